"""How a build says where it is."""

from __future__ import annotations

from collections.abc import Callable

# What is being done, and how much of it is done: 0 to 1.
Progress = Callable[[str, float], None]


def silent(what: str, share: float) -> None:
    """Say nothing."""
