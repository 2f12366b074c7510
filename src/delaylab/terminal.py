"""The one place where text goes to a terminal: nothing in it is markup, or can control it."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import dataclass
from typing import IO, Any

from rich.console import (
    Console,
    ConsoleOptions,
    ConsoleRenderable,
    RenderableType,
    RenderHook,
    RenderResult,
)
from rich.segment import Segment

from delaylab.printable import one_line, printable

# Into a pipe or a file, tables keep their width.
PIPED_WIDTH = 120


def terminal(
    *, stderr: bool = False, file: IO[str] | None = None, width: int | None = None
) -> Console:
    """Return a console that prints text as it is, its control characters as escapes."""
    stream = file or (sys.stderr if stderr else sys.stdout)
    if width is None and not stderr and not stream.isatty():
        width = PIPED_WIDTH
    console = Console(
        stderr=stderr, file=file, width=width, highlight=False, markup=False, emoji=False
    )
    console.push_render_hook(_Escapes())
    return console


def print_error(text: str) -> None:
    """Print one line to standard error."""
    terminal(stderr=True).print(one_line(text), soft_wrap=True)


def json_text(value: Any) -> str:
    """Return a value as JSON; numbers that JSON does not have are null."""
    return json.dumps(_finite(value), indent=2, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


class _Escapes(RenderHook):
    """The hook that every text passes on its way to a terminal."""

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        """Return the renderables with their text escaped."""
        return [_Escaped(each) for each in renderables]


@dataclass(frozen=True, slots=True)
class _Escaped:
    """A renderable, its text escaped."""

    inner: RenderableType

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for segment in console.render(self.inner, options):
            # What has control codes is rich's own: moving the cursor for a progress bar.
            yield segment if segment.control else Segment(printable(segment.text), segment.style)
