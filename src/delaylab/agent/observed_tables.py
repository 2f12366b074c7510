"""Reader of the tables that `observe` sends: numbers become names, prefixes and next hops."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from itertools import groupby
from operator import itemgetter

from delaylab.agent.result import AgentError
from delaylab.agent.table_schemas import SCHEMAS
from delaylab.agent.tables import Rows, decode
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
from delaylab.io.printable import as_name

_Row = tuple[int, int, int, int, int | None]
"""A row of the table `changes`: its time in ns, place, kind, what has changed, and its value."""
_KIND_AND_PLACE = itemgetter(2, 1)
ROUTE, LINK, LOST = range(3)
"""The kinds of rows of the table `changes`."""
ADMIN_UP, CARRIER = 1, 2
"""The bits of a device's state."""


@dataclass
class ObservedTables:
    """The meanings of one observation's numbers; `nodes` has the names of each of its places.

    Nodes that share a stack are one place: a change of its table is one of each of them.
    `label` names the agent in errors.
    """

    nodes: Sequence[Sequence[str]]
    label: str = ""
    _texts: list[str] = field(default_factory=list)
    _sets: dict[int | None, Hops | None] = field(default_factory=lambda: {0: DISCARD, None: None})

    def take_start(
        self,
        parts: dict[str, list[bytes]],
        tables: dict[str, Table],
        links: dict[tuple[str, str], LinkChange],
    ) -> None:
        """Fill the tables and the states of devices with what came first; `parts` is then empty."""
        with self._reading():
            self._take_start(parts, tables, links)

    def take(self, parts: dict[str, list[bytes]]) -> list[Change]:
        """Return the changes that have come, in the order in which they were heard of."""
        with self._reading():
            self._learn(parts)
            changes = [decode(SCHEMAS["changes"], part) for part in parts.pop("changes", [])]
            return [change for rows in changes for change in self._changes(_changed(rows))]

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Raise AgentError for what is wrong with the tables that the block reads."""
        try:
            yield
        except (LookupError, TypeError):
            why = "it has the number of a text, of next hops or of a node that it did not explain"
        except ValueError as error:
            why = str(error)
        else:
            return
        raise AgentError(f"it sent a malformed table of routes: {why}", self.label)

    def _take_start(
        self,
        parts: dict[str, list[bytes]],
        tables: dict[str, Table],
        links: dict[tuple[str, str], LinkChange],
    ) -> None:
        self._learn(parts)
        texts, sets = self._texts, self._sets
        for part in parts.pop("changes", []):
            rows = _changed(decode(SCHEMAS["changes"], part))
            # The routes of a place come one after another.
            for (kind, place), of_place in groupby(rows, _KIND_AND_PLACE):
                if kind == ROUTE:
                    found = {
                        texts[what]: hops
                        for _, _, _, what, value in of_place
                        if (hops := sets[value]) is not None
                    }
                    for node in self.nodes[place]:
                        tables.setdefault(node, {}).update(found)
                for change in self._changes(of_place) if kind == LINK else ():
                    if isinstance(change, LinkChange):
                        links[change.node, change.device] = change

    def _learn(self, parts: dict[str, list[bytes]]) -> None:
        """Learn the texts and sets of next hops that are new; each comes before its number."""
        for part in parts.pop("texts", []):
            rows = decode(SCHEMAS["texts"], part)
            numbers = rows.numbers["number"]
            if [*numbers] != [*range(len(self._texts), len(self._texts) + len(numbers))]:
                raise ValueError("its texts are out of order")
            self._texts += map(_text, rows.texts["text"])
        new: dict[int, set[NextHop]] = {}
        for part in parts.pop("hops", []):
            rows = decode(SCHEMAS["hops"], part)
            gateways = rows.some_texts["gateway"]
            for text in filter(None, {*gateways}):
                ip_address(text)
            sets, devices = rows.numbers["set"], rows.numbers["device"]
            for set_, device, gateway in zip(sets, devices, gateways, strict=True):
                new.setdefault(set_, set()).add(NextHop(self._texts[device], gateway))
        for set_, hops in new.items():
            self._sets[set_] = frozenset(hops) | (self._sets.get(set_) or frozenset())

    def _changes(self, rows: Iterable[_Row]) -> list[Change]:
        found: list[Change] = []
        texts, sets = self._texts, self._sets
        for at_ns, place, kind, what, value in rows:
            for node in self.nodes[place]:
                if kind == ROUTE:
                    found.append(TableChange(at_ns, node, texts[what], sets[value]))
                elif kind == LINK:
                    if value is None:
                        raise LookupError("a device without its state")
                    up, admin_up = bool(value & CARRIER), bool(value & ADMIN_UP)
                    found.append(LinkChange(at_ns, node, texts[what], up, admin_up))
                else:
                    found.append(Lost(at_ns, node))
        return found


def _changed(rows: Rows) -> Iterator[_Row]:
    numbers = (rows.numbers[name] for name in ("time_ns", "node", "kind", "what"))
    return zip(*numbers, rows.some_numbers["value"], strict=True)


def _text(text: str) -> str:
    """Return a prefix as it is, and a device's name as a dataset can hold it."""
    if "/" not in text:
        return as_name(text)
    ip_network(text)
    return text
