"""All output to a terminal: no text in it is taken for markup or can control the terminal."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable
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

from delaylab.io.printable import one_line, printable

# The width of tables that go into a pipe or a file.
PIPED_WIDTH = 120


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


def print_lines(lines: Iterable[str], console: Console) -> None:
    """Print plain lines unwrapped, each escaped; rich takes seconds for those of a large lab."""
    console.file.writelines(f"{printable(line)}\n" for line in lines)


def print_error(text: str) -> None:
    """Print one line to standard error."""
    terminal(stderr=True).print(one_line(text), soft_wrap=True)


def json_text(value: Any) -> str:
    """Return a value as JSON, with null for NaN and infinities, which JSON lacks."""
    return json.dumps(_finite(value), indent=2, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


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
