"""The terminal: consoles, errors, progress bars."""

from __future__ import annotations

from delaylab.io.console import terminal
from delaylab.io.terminal import print_lines
from delaylab.verbs.progress_bar import bar, lines

__all__ = [
    "bar",
    "lines",
    "print_lines",
    "terminal",
]
