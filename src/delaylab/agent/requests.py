"""The base of all requests to the agent (docs/protocol.md).

A field that is None is left out. The agent refuses fields that it does not know. The requests
themselves are in `wire`, generated from the agent's schema; those that ask for tables say more of
them here (`measuring_requests.py`, `observing_requests.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar, cast

from pydantic import BaseModel

from delaylab.agent.bounded_json import MOST_BYTES
from delaylab.agent.table_schemas import SCHEMAS, Schema
from delaylab.io.values import JsonObject, Message

R_co = TypeVar("R_co", bound=BaseModel, covariant=True)


@dataclass(frozen=True, kw_only=True)
class Request(Message, Generic[R_co]):
    """The base of all requests; `R_co` is the type of the answer."""

    op: ClassVar[str]
    reply: ClassVar[type[BaseModel]]
    keys: ClassVar[Mapping[str, Sequence[str]]] = {}
    """Columns that identify a row, by table, if later rows of the table replace earlier ones."""
    largest: ClassVar[int] = MOST_BYTES
    """The most bytes of one message that belongs to it."""

    def message(self) -> JsonObject:
        """Return the request as JSON values."""
        return {"op": self.op, **super().message()}

    def most_rows(self, table: str, after_s: float) -> int | None:
        """Return how many rows of a table may have come `after_s` seconds after the request.

        None for a table that the request does not ask for.
        """
        del table, after_s
        return None

    def schema(self, table: str) -> Schema:
        """Return the schema of one of its tables, as far as the request says more of it."""
        return SCHEMAS[table]

    def once(self, table: str) -> Mapping[str, int] | None:
        """Return how often a packet may be stamped at points that may stamp it more than once.

        None for a table in which a packet may be stamped at any point again and again.
        """
        del table
        return None

    def read(self, done: object) -> R_co:
        """Return the answer; raise ValueError if it is malformed, as pydantic does."""
        return cast(R_co, self.reply.model_validate(done))
