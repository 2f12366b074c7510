"""The shape of a netlab topology: its nodes with their groups, and its links in all their forms."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import TypeAlias

from delaylab.spec.source import Location
from delaylab.topology.formats.containerlab.tree import Fields, Tree, fields, items, text

MOST_VALUES = 200_000
"""The most values of all nodes and links, groups written out."""
Path: TypeAlias = tuple[str, ...]
Leaves: TypeAlias = dict[Path, Tree]
"""The values of a part of a topology by their paths, such as (ospf, area)."""
OFF = frozenset({"false", "no", "off"})
ON = frozenset({"true", "yes", "on"})
MEMBERS: Path = ("members",)
CREATED = "_auto_create"
"""The field of groups that makes nodes of their members."""


@dataclass
class NodeSaid:
    """A node: its place in the file, and what it, its groups and the topology say of it."""

    name: str
    at: Location
    said: Leaves
    number: int = 0
    """The node's identifier, which is the host part of its addresses."""


@dataclass
class LinkSaid:
    """A link: its place in the file, what it says of itself, and of each of its ends."""

    at: Location
    said: Leaves
    ends: list[tuple[str, Leaves]] = field(default_factory=list)


def leaves(tree: Tree, path: Path = ()) -> Leaves:
    """Return the values of a tree by their paths; a key with dots, `ospf.area`, is a path."""
    if not isinstance(tree, Mapping) or (path and not tree):
        return {path: tree}
    found: Leaves = {}
    for key, value in tree.items():
        found |= leaves(value, (*path, *key.split(".")))
    return found


def below(said: Leaves, *path: str) -> Leaves:
    """Return the values below a path, with the rest of their paths."""
    return {key[len(path) :]: value for key, value in said.items() if key[: len(path)] == path}


def words(tree: Tree) -> list[str]:
    """Return the texts of a list, or of one text with commas."""
    if isinstance(tree, str):
        return [each.strip() for each in tree.split(",") if each.strip()]
    return [each for each in items(tree) if isinstance(each, str)]


def is_on(tree: Tree) -> bool:
    """Return True for a value that turns something on."""
    return text(tree).lower() in ON


def is_off(tree: Tree) -> bool:
    """Return True for a value that turns something off."""
    return text(tree).lower() in OFF


def nodes_of(whole: Fields) -> dict[str, NodeSaid]:
    """Return the nodes, each with the values of its groups below its own."""
    given = whole.get("nodes")
    own: dict[str, Tree] = dict.fromkeys(words(given))
    own |= dict(fields(given))
    groups = fields(whole.get("groups"))
    for group in groups.values():
        if is_on(groups.get(CREATED)) or is_on(fields(group).get(CREATED)):
            own = {**dict.fromkeys([*own, *words(fields(group).get("members"))]), **own}
    found: dict[str, NodeSaid] = {}
    values = 0
    for name, tree in own.items():
        said: Leaves = {}
        for group in groups.values():
            of_group = {k: v for k, v in leaves(group).items() if k != ()}
            if name in words(of_group.pop(MEMBERS, None)):
                data = below(of_group, "node_data")
                rest = {k: v for k, v in of_group.items() if k[0] != "node_data"}
                said |= {**rest, **data}
        if fields(tree):
            said |= leaves(tree)
        found[name] = NodeSaid(name, ("nodes", name), said)
        values += len(said)
        if values > MOST_VALUES:
            raise ValueError(f"nodes have more than {MOST_VALUES} values, groups written out")
    _number(found.values())
    return found


def _number(nodes: Collection[NodeSaid]) -> None:
    """Give each node its number: that of the file, else the least that is free."""
    for node in nodes:
        given = text(node.said.get(("id",)))
        node.number = int(given) if re.fullmatch(r"[0-9]{1,3}", given) else 0
    taken = {node.number for node in nodes}
    free = (number for number in count(1) if number not in taken)
    for node in nodes:
        node.number = node.number or next(free)


def links_of(whole: Fields, known: Mapping[str, NodeSaid]) -> Iterator[LinkSaid | Location]:
    """Yield the links; the place of one that has no form of netlab's."""
    for index, link in enumerate(items(whole.get("links"))):
        yield from _links(("links", index), link, known, {})


def _links(
    at: Location, link: Tree, known: Mapping[str, NodeSaid], more: Leaves
) -> Iterator[LinkSaid | Location]:
    group = fields(link)
    if "group" in group and "members" in group:
        inherited = {k: v for k, v in leaves(group).items() if k[0] not in ("group", "members")}
        for member in items(group["members"]):
            yield from _links(at, member, known, {**more, **inherited})
        return
    ends = _ends(link, known)
    if ends is None:
        yield at
        return
    of_link = {k: v for k, v in group.items() if k.split(".")[0] not in (*known, "interfaces")}
    said = leaves(of_link)
    said.pop((), None)
    yield LinkSaid(at, {**more, **said}, ends)


def _ends(link: Tree, known: Mapping[str, NodeSaid]) -> list[tuple[str, Leaves]] | None:
    """Return the ends of a link; None if it has a form, or a node, that is not known."""
    given: list[tuple[str, Tree]]
    if isinstance(link, str):
        given = [(name, None) for name in re.split(r"[-,]", link)]
    elif "interfaces" in fields(link):
        given = [
            (each, None) if isinstance(each, str) else (text(fields(each).get("node")), each)
            for each in items(fields(link)["interfaces"])
        ]
    elif fields(link):
        given = list(_by_node(fields(link), known).items())
    else:
        given = [(name, None) for name in words(link)]
    names = [name.strip() for name, _ in given]
    if not names or any(name not in known for name in names):
        return None
    of_ends = [_of_end(each) for _, each in given]
    return list(zip(names, of_ends, strict=True))


def _by_node(link: Fields, known: Mapping[str, NodeSaid]) -> dict[str, Tree]:
    """Return what a link says of each node: `r1: {ipv4: …}`, or `r1.ipv4: …`."""
    found: dict[str, Tree] = {}
    for key, value in link.items():
        node, _, rest = key.partition(".")
        if node in known:
            found[node] = {**fields(found.get(node)), rest: value} if rest else value
    return found


def _of_end(tree: Tree) -> Leaves:
    said = leaves(tree)
    alone = said.pop((), None)
    said.pop(("node",), None)
    return said if alone is None or alone == "" else {("ipv4",): alone, **said}
