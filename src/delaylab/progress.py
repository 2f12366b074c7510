"""Progress reports of a long operation."""

from __future__ import annotations

from collections.abc import Callable

# A callback that takes the present step as text and its share done, from 0 to 1.
Progress = Callable[[str, float], None]


def silent(what: str, share: float) -> None:
    """Report nothing."""
