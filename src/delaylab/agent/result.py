"""Results of requests to an agent, and its errors."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic

from pydantic import ValidationError

from delaylab.agent import tables
from delaylab.agent.frames import HEADER, Frame, FrameKind
from delaylab.agent.requests import R_co, Request
from delaylab.errors import DelaylabError

if TYPE_CHECKING:
    import polars as pl

MOST_KEPT = 64 << 20
"""The most bytes of a command's output that are kept in memory for a caller that takes it whole."""
MOST_OF_TABLES = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
"""The most bytes of tables that one request may bring: half of this machine's memory."""


class AgentError(DelaylabError):
    """An error that an agent reported, or a failure to get its answer."""


class NoAnswer(AgentError):
    """An answer that did not come in time; the agent may still give it."""


class AgentGone(AgentError):
    """The end of the agent's stream in the middle of a request."""


@dataclass
class Result(Generic[R_co]):
    """The result of a request: its answer, its tables, the output of a command.

    `raw` is the answer as it was sent, `label` names the agent. `parts` holds the encoded parts of
    each table by the table's name. While the request runs, and after its agent died, `parts` and
    `table` have what has come so far; the answer comes at the end.
    """

    request: Request[R_co]
    raw: dict[str, object] = field(default_factory=dict)
    parts: dict[str, list[bytes]] = field(default_factory=dict)
    stdout: bytes = b""
    stderr: bytes = b""
    label: str = ""
    _tables_bytes: int = 0

    @property
    def done(self) -> R_co:
        """Return the answer; raise AgentError if it is malformed."""
        try:
            return self.request.read(self.raw)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            what = f"it sent a malformed answer to {self.request.op!r}: {where}: {first['msg']}"
            raise AgentError(what, self.label) from None

    def table(self, name: str) -> pl.DataFrame:
        """Return a table of the result, the parts that have come joined.

        Raises AgentError if the agent sent none, or a damaged one.
        """
        import polars as pl  # noqa: PLC0415  slow to load, and most verbs need none

        if name not in self.parts:
            raise AgentError(f"the agent sent no table {name!r}", self.label)
        try:
            return tables.joined(name, self.parts[name], self.request.keys.get(name, ()))
        except (ValueError, pl.exceptions.PolarsError) as error:
            what = f"the agent sent a malformed table {name!r}: {error}"
            raise AgentError(what, self.label) from None

    def keep_table(self, payload: bytes) -> None:
        """Add a part of a table; raise AgentError if there is more than memory should hold."""
        length = payload[0] if payload else 0
        name = payload[1 : 1 + length].decode(errors="replace")
        self.parts.setdefault(name, []).append(payload[1 + length :])
        self._tables_bytes += HEADER.size + len(payload)
        if self._tables_bytes > MOST_OF_TABLES:
            # Those that were read meanwhile are gone.
            each = (HEADER.size + len(part) for parts in self.parts.values() for part in parts)
            self._tables_bytes = sum(each)
        if self._tables_bytes > MOST_OF_TABLES:
            what = "its tables are larger than half of this machine's memory"
            raise AgentError(what, self.label)

    def keep_output(self, frame: Frame) -> None:
        """Add output of a command; raise AgentError if it is too much, or not output at all."""
        if frame.kind == FrameKind.STDOUT:
            self.stdout = self._with(self.stdout, frame.payload)
        elif frame.kind == FrameKind.STDERR:
            self.stderr = self._with(self.stderr, frame.payload)
        else:
            raise AgentError("does not speak the protocol: it sent input", self.label)

    def _with(self, kept: bytes, more: bytes) -> bytes:
        if len(kept) + len(more) > MOST_KEPT:
            what = f"the output of {self.request.op!r} is larger than {MOST_KEPT >> 20} MiB"
            raise AgentError(what, self.label)
        return kept + more
