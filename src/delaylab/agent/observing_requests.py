"""The request for forwarding tables (docs/protocol.md), as a type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from delaylab.agent.observing_replies import Observed
from delaylab.agent.requests import Request
from delaylab.io.values import Message

CHANGES_A_SECOND = 500_000
"""The most rows that an observer reads in a second."""


@dataclass(frozen=True)
class ObservePlace(Message):
    """A node, by a process in its network namespace; without `pid` the agent's own namespace."""

    name: str
    pid: int | None = None


@dataclass(frozen=True, kw_only=True)
class Observe(Request[Observed]):
    """Report the forwarding tables of nodes, then all that changes in them, until it is stopped.

    `room_bytes` are the bytes of messages about a node that may wait in the kernel. The tables
    come in parts, at most one in `parts_ns`: `texts` and `hops` explain the numbers in `changes`.
    """

    op = "observe"
    reply = Observed
    places: Sequence[ObservePlace]
    room_bytes: int = 4 << 20
    parts_ns: int = 10_000_000

    def most_rows(self, table: str, after_s: float) -> int | None:
        """Return the rows of a table: those of the largest lab, and of what changes each second."""
        first = {"texts": 1 << 20, "hops": 1 << 20, "changes": 1 << 24}.get(table)
        return None if first is None else first + round(after_s * CHANGES_A_SECOND)
