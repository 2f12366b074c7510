"""Results of requests to an agent, and its errors."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from pydantic import ValidationError

from delaylab.agent import tables
from delaylab.agent.failures import AgentError, AgentGone, NoAnswer, Unreachable
from delaylab.agent.frames import Frame, FrameKind
from delaylab.agent.requests import R_co, Request
from delaylab.agent.table_schemas import SCHEMAS, width

__all__ = ["AgentError", "AgentGone", "NoAnswer", "Result", "Unreachable"]

T = TypeVar("T")
MOST_KEPT = 64 << 20
"""The most bytes of a command's output that are kept in memory for a caller that takes it whole."""
PART_BYTES, TEXT_BYTES, MOST_REST = 64, 200, 32 << 20
"""Bytes that each part counts for, texts that each row may have, and the most of all the rest."""


@dataclass
class Result(Generic[R_co]):
    """The result of a request: its answer, its tables, the output of a command.

    `raw` is the answer as it was sent, `label` names the agent. `parts` holds the encoded parts of
    each table by the table's name. While the request runs, and after its agent died, they are what
    has come so far; the answer comes at the end. `since_s` is when the request
    was sent, by the monotonic clock.
    """

    request: Request[R_co]
    raw: dict[str, object] = field(default_factory=dict)
    parts: dict[str, list[bytes]] = field(default_factory=dict)
    stdout: bytes = b""
    stderr: bytes = b""
    label: str = ""
    since_s: float = field(default_factory=time.monotonic)
    _rows: Counter[str] = field(default_factory=Counter)
    _tables_bytes: int = 0
    _output: list[Frame] = field(default_factory=list)

    @property
    def done(self) -> R_co:
        """Return the answer; raise AgentError if it is malformed."""
        try:
            return self.request.read(self.raw)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            why = f"{where}: {first['msg']}"
        except ValueError as error:
            why = str(error)
        raise AgentError(f"it sent a malformed answer to {self.request.op!r}: {why}", self.label)

    def read(self, name: str, read: Callable[[tables.Form, Sequence[bytes]], T]) -> T:
        """Return a table of the result, as `read` makes it of the parts that have come.

        Raises AgentError if the agent sent none, or a damaged one, for which `read` raises
        ValueError.
        """
        if name not in self.parts:
            raise AgentError(f"the agent sent no table {name!r}", self.label)
        asked = self.request
        form = tables.Form(asked.schema(name), asked.keys.get(name, ()), asked.once(name))
        try:
            return read(form, self.parts[name])
        except ValueError as error:
            raise self._malformed(name, error) from None

    def rows(self, name: str) -> list[tables.Rows]:
        """Return the parts of a table as plain values; raises AgentError as `read` does."""
        return self.read(name, tables.plain)

    def take_rows(self, name: str) -> list[tables.Rows]:
        """Return what has come of a table since the last call, and forget it."""
        found = self.rows(name) if self.parts.get(name) else []
        self.parts.pop(name, None)
        return found

    def keep_table(self, payload: bytes) -> None:
        """Add a part of a table, as its frame has it; raise AgentError for what nobody asked for.

        Its header is checked, and that all parts together have no more rows than the request
        allows. Nothing is decoded yet.
        """
        length = payload[0] if payload else 0
        name, part = payload[1 : 1 + length].decode(errors="replace"), payload[1 + length :]
        most = self.request.most_rows(name, time.monotonic() - self.since_s)
        if most is None:
            what = f"it sent a table {name[:30]!r}, for which {self.request.op!r} does not ask"
            raise AgentError(what, self.label)
        try:
            rows = tables.check(self.request.schema(name), part).rows
        except ValueError as error:
            raise self._malformed(name, error) from None
        self._rows[name] += rows
        self._tables_bytes += len(part) + PART_BYTES
        of_rows = (n * (width(SCHEMAS[each]) + TEXT_BYTES) for each, n in self._rows.items())
        if self._rows[name] > most or self._tables_bytes - sum(of_rows) > MOST_REST:
            raise AgentError(f"it sent more of the table {name!r} than was asked for", self.label)
        kept = self.parts.setdefault(name, [])
        # One part without rows shows that there is such a table.
        if rows or not kept:
            kept.append(part)

    def keep_output(self, frame: Frame) -> None:
        """Keep output of a command until `join_output`; raise AgentError for what is no output."""
        if frame.kind not in (FrameKind.STDOUT, FrameKind.STDERR):
            raise AgentError("does not speak the protocol: it sent input", self.label)
        self._output.append(frame)

    def join_output(self) -> None:
        """Add the output that was kept to the rest; raise AgentError if that is too much.

        What came at once is added at once: each of its frames may have one byte.
        """
        pieces, self._output = self._output, []
        self.stdout = self._with(self.stdout, FrameKind.STDOUT, pieces)
        self.stderr = self._with(self.stderr, FrameKind.STDERR, pieces)

    def _with(self, known: bytes, kind: FrameKind, pieces: list[Frame]) -> bytes:
        more = [frame.payload for frame in pieces if frame.kind == kind]
        if len(known) + sum(map(len, more)) > MOST_KEPT:
            what = f"the output of {self.request.op!r} is larger than {MOST_KEPT >> 20} MiB"
            raise AgentError(what, self.label)
        return b"".join([known, *more]) if more else known

    def _malformed(self, name: str, error: Exception) -> AgentError:
        return AgentError(f"the agent sent a malformed table {name!r}: {error}", self.label)
