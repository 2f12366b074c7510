"""The base of all requests to the agent (docs/protocol.md), and those that every session needs.

A field that is None is left out. The agent refuses fields that it does not know.
`tests/packets/test_protocol_types.py` compares these types with the agent's own, and
`tests/packets/test_protocol.py` sends each request with all its fields.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, cast

from pydantic import BaseModel

from delaylab.agent import replies
from delaylab.io.values import JsonObject

if TYPE_CHECKING:
    from delaylab.plan.model import Plan

R_co = TypeVar("R_co", bound=BaseModel, covariant=True)


@dataclass(frozen=True, kw_only=True)
class Request(Generic[R_co]):
    """The base of all requests; `R_co` is the type of the answer."""

    op: ClassVar[str]
    reply: ClassVar[type[BaseModel]]

    def message(self) -> JsonObject:
        """Return the request as JSON values."""
        named = {field.name: getattr(self, field.name) for field in fields(self)}
        given = {name: _plain(value) for name, value in named.items() if value is not None}
        return {"op": self.op, **given}

    def read(self, done: object) -> R_co:
        """Return the answer; raise ValidationError if it is malformed."""
        return cast(R_co, self.reply.model_validate(done))


def _plain(value: Any) -> Any:
    if hasattr(value, "message"):
        return value.message()
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    return value


class Hello(Request[replies.Hello]):
    """Ask for version, process and clock."""

    op = "hello"
    reply = replies.Hello


@dataclass(frozen=True)
class Terminal:
    """The size of a terminal in characters, and its kind (TERM)."""

    rows: int
    cols: int
    term: str

    def message(self) -> JsonObject:
        """Return the terminal as JSON values."""
        return {"rows": self.rows, "cols": self.cols, "term": self.term}


@dataclass(frozen=True, kw_only=True)
class Exec(Request[replies.Exit]):
    """Run a command. `window` is the most bytes of output under way; None sends all at once.

    With `hold` it is started once the session says `go`.
    """

    op = "exec"
    reply = replies.Exit
    argv: Sequence[str]
    env: dict[str, str] | None = None
    cwd: str | None = None
    tty: Terminal | None = None
    stdin: bool = False
    window: int | None = None
    hold: bool = False


@dataclass(frozen=True, kw_only=True)
class Build(Request[replies.Built]):
    """Build a lab, which ends with its session unless that is told to keep it.

    `record` is kept beside the lab.
    """

    op = "build"
    reply = replies.Built
    lab: str
    dir: str
    rootless: bool
    record: JsonObject
    plan: Plan
