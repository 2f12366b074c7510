"""Reader of the tables that `observe` sends: numbers become names, prefixes and next hops."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING

from delaylab.agent.result import AgentError
from delaylab.agent.table_schemas import SCHEMAS
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
from delaylab.io.printable import as_name

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
            return [change for frame in changes for change in self._changes(frame)]

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
            frame = decode(SCHEMAS["changes"], part)
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

    def _learn(self, parts: dict[str, list[bytes]]) -> None:
        """Learn the texts and sets of next hops that are new; each comes before its number."""
        for part in parts.pop("texts", []):
            frame = decode(SCHEMAS["texts"], part)
            if frame["number"].to_list() != list(
                range(len(self._texts), len(self._texts) + frame.height)
            ):
                raise ValueError("its texts are out of order")
            self._texts += map(_text, frame["text"].to_list())
        new: dict[int, set[NextHop]] = {}
        for part in parts.pop("hops", []):
            frame = decode(SCHEMAS["hops"], part)
            for gateway in frame["gateway"].unique().drop_nulls():
                ip_address(gateway)
            for set_, device, gateway in frame.iter_rows():
                new.setdefault(set_, set()).add(NextHop(self._texts[device], gateway))
        for set_, hops in new.items():
            self._sets[set_] = frozenset(hops) | (self._sets.get(set_) or frozenset())

    def _changes(self, frame: pl.DataFrame) -> list[Change]:
        found: list[Change] = []
        texts, sets = self._texts, self._sets
        for at_ns, place, kind, what, value in frame.iter_rows():
            for node in self.nodes[place]:
                if kind == ROUTE:
                    found.append(TableChange(at_ns, node, texts[what], sets[value]))
                elif kind == LINK:
                    up, admin_up = bool(value & CARRIER), bool(value & ADMIN_UP)
                    found.append(LinkChange(at_ns, node, texts[what], up, admin_up))
                else:
                    found.append(Lost(at_ns, node))
        return found


def _text(text: str) -> str:
    """Return a prefix as it is, and a device's name as a dataset can hold it."""
    if "/" not in text:
        return as_name(text)
    ip_network(text)
    return text
