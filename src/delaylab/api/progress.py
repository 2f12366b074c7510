"""Reports of how far a long task is."""

from __future__ import annotations

from delaylab.progress import Progress, silent

__all__ = [
    "Progress",
    "silent",
]
