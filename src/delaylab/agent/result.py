"""Results of requests to an agent, and its errors."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic

from pydantic import ValidationError

from delaylab.agent import tables
from delaylab.agent.requests import R_co, Request
from delaylab.errors import DelaylabError

if TYPE_CHECKING:
    import polars as pl


class AgentError(DelaylabError):
    """An error that an agent reported, or a failure to get its answer."""


class NoAnswer(AgentError):
    """An answer that did not come in time; the agent may still give it."""


class AgentGone(AgentError):
    """The end of the agent's stream in the middle of a request."""


@dataclass
class Result(Generic[R_co]):
    """The result of a request: its answer, its tables, the output of a command.

    `raw` is the answer as it was sent. `parts` holds the encoded parts of each table by the table's
    name. While the request runs, and after its agent died, `parts` and `table` have what has come
    so far; the answer comes at the end.
    """

    request: Request[R_co]
    raw: dict[str, object] = field(default_factory=dict)
    parts: dict[str, list[bytes]] = field(default_factory=dict)
    stdout: bytes = b""
    stderr: bytes = b""

    @property
    def done(self) -> R_co:
        """Return the answer; raise AgentError if it is malformed."""
        try:
            return self.request.read(self.raw)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            what = f"it sent a malformed answer to {self.request.op!r}: {where}: {first['msg']}"
            raise AgentError(what) from None

    def table(self, name: str) -> pl.DataFrame:
        """Return a table of the result, the parts that have come joined.

        Raises AgentError if the agent sent none, or a damaged one.
        """
        import polars as pl  # noqa: PLC0415  slow to load, and most verbs need none

        if name not in self.parts:
            raise AgentError(f"the agent sent no table {name!r}")
        try:
            return tables.joined(self.parts[name], self.request.keys.get(name, ()))
        except (ValueError, pl.exceptions.PolarsError) as error:
            raise AgentError(f"the agent sent a malformed table {name!r}: {error}") from None
