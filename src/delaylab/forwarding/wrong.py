"""The number of wrong routes of each node over time, from changes of its forwarding table."""

from __future__ import annotations

from collections.abc import Iterable

from delaylab.forwarding.tables import Change, TableChange
from delaylab.forwarding.verified import Verified

Row = tuple[int, str, int]
"""A time in ns since 1970, a node, and the number of its wrong routes from then on."""


class WrongRoutes:
    """A watch on a comparison of tables: when each node's number of wrong routes changed."""

    def __init__(self, verified: Verified) -> None:
        self._verified = verified
        self._noted: dict[str, int] = {}
        self.rows: list[Row] = []

    def note(self, at_ns: int, nodes: Iterable[str]) -> None:
        """Keep the numbers of some nodes at a time, those that are other than before."""
        for node in nodes:
            count = self._verified.by_node[node]
            if count != self._noted.get(node, 0):
                self._noted[node] = count
                self.rows.append((at_ns, node, count))

    def take(self, changes: Iterable[Change]) -> int | None:
        """Follow changes of tables; return when all tables became right, as `Verified.take`."""
        became: int | None = None
        for change in changes:
            if isinstance(change, TableChange):
                right_ns = self._verified.take([change])
                became = right_ns or (became if self._verified.is_right else None)
                self.note(change.at_ns, [change.node])
        return became
