"""All output to a terminal: no text in it is taken for markup or can control the terminal."""

from __future__ import annotations

import io
import json
import math
import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

from rich.console import (
    Console,
    ConsoleOptions,
    ConsoleRenderable,
    RenderableType,
    RenderHook,
    RenderResult,
)
from rich.segment import Segment

from delaylab.errors import DelaylabError
from delaylab.io.printable import one_line, printable

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

# The width of tables that go into a pipe or a file.
PIPED_WIDTH = 120
ESCAPED = "backslashreplace"


def prepare_streams() -> None:
    """Make the standard streams take any text, or raise DelaylabError if there is no output.

    A closed standard input or error is replaced by an empty one: the next file that is opened would
    take its number.
    """
    if sys.stdin is None:
        sys.stdin = open(os.devnull)  # noqa: SIM115, PTH123  for as long as the process lives
    if sys.stdout is None:
        raise DelaylabError("standard output is closed", fix="redirect it to /dev/null")
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115, PTH123  as above
    # A terminal that is not UTF-8 shows what it cannot write as an escape.
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(_Output(1, "w", closefd=False)),
        encoding=sys.stdout.encoding,
        errors=ESCAPED,
        line_buffering=sys.stdout.isatty(),
    )
    if isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr.reconfigure(errors=ESCAPED)


class _Output(io.FileIO):
    """Standard output, whose errors name it."""

    def write(self, data: ReadableBuffer, /) -> int:
        """Write bytes as `io.FileIO` does."""
        try:
            return super().write(data)
        except OSError as error:
            error.filename = "standard output"
            raise


def give_up_output() -> None:
    """Send what is still buffered nowhere: Python would try to write it once more at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


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


def json_text(value: object) -> str:
    """Return a value as JSON, with null for NaN and infinities, which JSON lacks."""
    return json.dumps(_finite(value), indent=2, allow_nan=False)


def _finite(value: object) -> object:
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
