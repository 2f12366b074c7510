"""Progress of long tasks, as they report it."""

from __future__ import annotations

from delaylab.progress import Progress, silent

__all__ = [
    "Progress",
    "silent",
]
