"""Layers of a node's fields: the defaults, those of its kind, of its group, and its own."""

from __future__ import annotations

from collections.abc import Mapping

from delaylab.spec.source import Location
from delaylab.topology.formats.containerlab.tree import (
    Fields,
    Said,
    Tree,
    fields,
    is_text,
    items,
    text,
)

MOST_VALUES = 1_000_000
TOP: Location = ("topology",)
MERGED = frozenset({"env", "labels", "sysctls", "tmpfs"})
"""Fields of which each layer adds its own entries."""
LISTED = frozenset({"binds", "exec", "env-files", "volumes", "devices", "cap-add", "security-opts"})
"""Fields of which each layer adds its own items."""
EMPTY: tuple[Tree, ...] = (None, "", {}, [])
"""Values that say nothing: a layer below counts."""


class Layers:
    """The fields of each node, the most specific layer last: its own."""

    def __init__(self, topology: Fields) -> None:
        self._topology = topology
        self._sizes: dict[int, int] = {}
        self._written = 0
        self._defaults = fields(topology.get("defaults"))

    def of(self, node: str) -> Mapping[str, Said]:
        """Return the fields of a node, with the place that says each.

        Raises ValueError if those of all nodes so far are too many, layers written out.
        """
        own = fields(fields(self._topology.get("nodes")).get(node))
        kind = self._kind(own)
        group = self._first("group", own, self._of("kinds", kind), self._defaults)
        found: dict[str, Said] = {}
        for at, layer in (
            ((*TOP, "defaults"), self._defaults),
            ((*TOP, "kinds", kind), self._of("kinds", kind)),
            ((*TOP, "groups", group), self._of("groups", group)),
            ((*TOP, "nodes", node), own),
        ):
            self._count(layer)
            for name, value in layer.items():
                if value not in EMPTY:
                    found[name] = _over(found.get(name), name, Said(value, (*at, name)))
        before = found.get("kind", Said(kind, (*TOP, "nodes", node)))
        if kind and is_text(before.value):
            found["kind"] = Said(kind, before.at)
        return found

    def _count(self, layer: Fields) -> None:
        if id(layer) not in self._sizes:
            self._sizes[id(layer)] = _size(layer)
        self._written += self._sizes[id(layer)]
        if self._written > MOST_VALUES:
            raise ValueError(f"nodes have more than {MOST_VALUES} values, layers written out")

    def without_group(self, given: Mapping[str, Said]) -> Mapping[str, Said]:
        """Return fields without a group that the topology has: its fields are among them."""
        groups = fields(self._topology.get("groups"))
        return {
            name: said
            for name, said in given.items()
            if name != "group" or text(said.value) not in groups
        }

    def _kind(self, own: Fields) -> str:
        group = self._of("groups", text(own.get("group")))
        usual = self._of("groups", text(self._defaults.get("group")))
        return self._first("kind", own, group, usual, self._defaults)

    def _of(self, part: str, name: str) -> Fields:
        return fields(fields(self._topology.get(part)).get(name))

    @staticmethod
    def _first(name: str, *layers: Fields) -> str:
        return next((said for each in layers if (said := text(each.get(name)))), "")


def _size(tree: Tree) -> int:
    inside = tree.values() if isinstance(tree, Mapping) else items(tree)
    return 1 + sum(map(_size, inside))


def _over(before: Said | None, name: str, over: Said) -> Said:
    """Return a field of one layer over that of the layers below it."""
    if before is None:
        return over
    if name in MERGED:
        return Said({**fields(before.value), **fields(over.value)}, over.at)
    if name in LISTED:
        known = {each for each in items(before.value) if isinstance(each, str)}
        new = (each for each in items(over.value) if text(each) not in known)
        return Said([*items(before.value), *new], over.at)
    return over
