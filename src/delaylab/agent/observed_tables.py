"""Reader of the tables that `observe` sends: numbers become names, prefixes and next hops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from delaylab.agent.result import AgentError
from delaylab.agent.tables import decode
from delaylab.forwarding.tables import (
    DISCARD,
    Change,
    Hops,
    LinkChange,
    Lost,
    NextHop,
    Table,
    TableChange,
)

if TYPE_CHECKING:
    import polars as pl

ROUTE, LINK, LOST = range(3)
"""The kinds of rows of the table `changes`."""
ADMIN_UP, CARRIER = 1, 2
"""The bits of a device's state."""


@dataclass
class ObservedTables:
    """The meanings of one observation's numbers; `nodes` has the names of each of its places.

    Nodes that share a stack are one place: a change of its table is one of each of them.
    """

    nodes: Sequence[Sequence[str]]
    _texts: list[str] = field(default_factory=list)
    _sets: dict[int | None, Hops | None] = field(default_factory=lambda: {0: DISCARD, None: None})

    def take_start(
        self,
        parts: dict[str, list[bytes]],
        tables: dict[str, Table],
        links: dict[tuple[str, str], LinkChange],
    ) -> None:
        """Fill the tables and the states of devices with what came first; `parts` is then empty."""
        self._learn(parts)
        texts, sets = self._texts, self._sets
        for part in parts.pop("changes", []):
            frame = _decoded(part)
            routes = frame.filter(frame["kind"] == ROUTE)
            for key, of_node in routes.group_by("node", maintain_order=True):
                what, value = of_node["what"].to_list(), of_node["value"].to_list()
                rows = zip(what, value, strict=True)
                found = {
                    texts[prefix]: hops for prefix, set_ in rows if (hops := sets[set_]) is not None
                }
                for node in self.nodes[int(str(key[0]))]:
                    tables.setdefault(node, {}).update(found)
            for change in self._changes(frame.filter(frame["kind"] == LINK)):
                if isinstance(change, LinkChange):
                    links[change.node, change.device] = change

    def take(self, parts: dict[str, list[bytes]]) -> list[Change]:
        """Return the changes that have come, in the order in which they were heard of."""
        self._learn(parts)
        return [
            change for part in parts.pop("changes", []) for change in self._changes(_decoded(part))
        ]

    def _learn(self, parts: dict[str, list[bytes]]) -> None:
        """Learn the texts and sets of next hops that are new; each comes before its number."""
        for part in parts.pop("texts", []):
            frame = _decoded(part)
            if frame["number"].to_list() != list(
                range(len(self._texts), len(self._texts) + frame.height)
            ):
                raise AgentError("it sent texts out of order")
            self._texts += frame["text"].to_list()
        new: dict[int, set[NextHop]] = {}
        for part in parts.pop("hops", []):
            for set_, device, gateway in _decoded(part).iter_rows():
                new.setdefault(set_, set()).add(NextHop(self._texts[device], gateway))
        for set_, hops in new.items():
            self._sets[set_] = frozenset(hops) | (self._sets.get(set_) or frozenset())

    def _changes(self, frame: pl.DataFrame) -> list[Change]:
        found: list[Change] = []
        texts, sets = self._texts, self._sets
        try:
            for at_ns, place, kind, what, value in frame.iter_rows():
                for node in self.nodes[place]:
                    if kind == ROUTE:
                        found.append(TableChange(at_ns, node, texts[what], sets[value]))
                    elif kind == LINK:
                        up, admin_up = bool(value & CARRIER), bool(value & ADMIN_UP)
                        found.append(LinkChange(at_ns, node, texts[what], up, admin_up))
                    else:
                        found.append(Lost(at_ns, node))
        except (LookupError, TypeError, ValueError) as error:
            raise AgentError(f"it sent a malformed table 'changes': {error}") from None
        return found


def _decoded(part: bytes) -> pl.DataFrame:
    try:
        return decode(part)
    except ValueError as error:
        raise AgentError(f"it sent a malformed table: {error}") from None
