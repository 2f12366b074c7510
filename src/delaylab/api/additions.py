"""Entry points of installed packages, such as those of papers."""

from __future__ import annotations

from delaylab.extensions import EntryPoint, entry_points

__all__ = ["EntryPoint", "entry_points"]
