"""Standard streams, and plain text to them that cannot control the terminal."""

from __future__ import annotations

import io
import json
import math
import os
import sys
from collections.abc import Iterable
from typing import IO, TYPE_CHECKING

from delaylab.errors import DelaylabError
from delaylab.io.printable import one_line, printable

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

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


def print_lines(lines: Iterable[str], stream: IO[str]) -> None:
    """Print plain lines unwrapped, each escaped; rich takes seconds for those of a large lab."""
    stream.writelines(f"{printable(line)}\n" for line in lines)


def print_error(text: str) -> None:
    """Print one line to standard error."""
    from delaylab.io.console import terminal  # noqa: PLC0415  rich is loaded for errors alone

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
