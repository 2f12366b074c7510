"""All output by rich: no text in it is taken for markup or can control the terminal.

It is a module of its own because rich takes 10 ms to load, and plain lines and JSON need none of it
(`terminal.py`).
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import IO

from rich.console import (
    Console,
    ConsoleOptions,
    ConsoleRenderable,
    RenderableType,
    RenderHook,
    RenderResult,
)
from rich.segment import Segment

from delaylab.io.printable import printable

PIPED_WIDTH = 120
"""The width of tables that go into a pipe or a file."""


def terminal(
    *, stderr: bool = False, file: IO[str] | None = None, width: int | None = None
) -> Console:
    """Return a console that prints text literally, with control characters as escapes."""
    stream = file or (sys.stderr if stderr else sys.stdout)
    if width is None and not stderr and not stream.isatty():
        width = PIPED_WIDTH
    console = Console(
        stderr=stderr, file=file, width=width, highlight=False, markup=False, emoji=False
    )
    console.push_render_hook(_Escapes())
    return console


class _Escapes(RenderHook):
    """A render hook that escapes all text on its way to the terminal."""

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        """Return the renderables with their text escaped."""
        return [_Escaped(each) for each in renderables]


@dataclass(frozen=True, slots=True)
class _Escaped:
    """A renderable whose text is escaped when it is printed."""

    inner: RenderableType

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for segment in console.render(self.inner, options):
            # Segments with control codes come from rich itself: a progress bar moves the cursor.
            yield segment if segment.control else Segment(printable(segment.text), segment.style)
