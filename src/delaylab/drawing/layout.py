"""Layout of a lab's graph: its nodes as rows, its links as lines beside them.

A link is a vertical line with its number at each node that it joins. Links whose rows do not
overlap share a lane, so a chain of any length needs two.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from delaylab.errors import BadInput
from delaylab.resolve.lab import Lab
from delaylab.spec.conditions.words import one_line

NO_DEVICES: Mapping[tuple[str, str], str] = MappingProxyType({})
# Largest number of nodes of a drawing: more is no picture any more.
MOST_NODES = 2000


@dataclass(frozen=True, slots=True)
class DrawnNode:
    """A node of the lab; `about` has its kind, and says if it is a router."""

    name: str
    about: str
    row: int


@dataclass(frozen=True, slots=True)
class DrawnLink:
    """A link of the lab: its number, its lane, the rows that it joins, its conditions in words.

    `ends` are the nodes that it joins, each with the name of its interface, if that is known.
    """

    number: int
    name: str
    ends: list[str]
    rows: list[int]
    lane: int
    conditions: list[str]

    @property
    def legend(self) -> str:
        """Return the link's name and its ends."""
        return f"{self.name}: {' — '.join(self.ends)}"


@dataclass(frozen=True, slots=True)
class Graph:
    """The layout of a lab: hosts with their nodes, and links in lanes."""

    lab: str
    hosts: dict[str, list[DrawnNode]]
    links: list[DrawnLink]

    @property
    def lanes(self) -> int:
        """Return the number of lanes."""
        return max((link.lane for link in self.links), default=-1) + 1


def graph(lab: Lab, devices: Mapping[tuple[str, str], str] = NO_DEVICES) -> Graph:
    """Return the layout of a lab; raise `BadInput` if it is too large to draw.

    `devices` are the names of interfaces, by node and link.
    """
    if len(lab.nodes) > MOST_NODES:
        raise BadInput(f"{len(lab.nodes)} nodes; at most {MOST_NODES} are drawn", lab.name)
    hosts: dict[str, list[DrawnNode]] = {}
    for name in lab.nodes:
        hosts.setdefault(lab.host_of(name), [])
    row = 0
    for host, nodes in hosts.items():
        for name in lab.nodes:
            if lab.host_of(name) == host:
                nodes.append(DrawnNode(name, _about(lab, name), row))
                row += 1
    rows = {node.name: node.row for nodes in hosts.values() for node in nodes}
    titles = {(host if lab.hosts else "this machine"): nodes for host, nodes in hosts.items()}
    return Graph(lab.name, titles, _links(lab, rows, devices))


def _about(lab: Lab, name: str) -> str:
    node = lab.nodes[name]
    parts: list[str] = [f"interface {node.outside}" if node.outside else node.kind]
    if node.forwards:
        parts.append("router")
    return ", ".join(parts)


def _links(
    lab: Lab, rows: dict[str, int], devices: Mapping[tuple[str, str], str]
) -> list[DrawnLink]:
    ends: list[int] = []  # of each lane, the last row that it is taken at
    lanes: dict[int, int] = {}
    reach = {
        i: sorted(rows[name] for name in link.members) for i, link in enumerate(lab.links.values())
    }
    for index in sorted(reach, key=lambda i: (reach[i][0], reach[i][-1])):
        first, last = reach[index][0], reach[index][-1]
        lane = next((n for n, end in enumerate(ends) if end < first), len(ends))
        ends[lane : lane + 1] = [last]
        lanes[index] = lane
    found = []
    for index, (name, link) in enumerate(lab.links.items()):
        said = {member: one_line(sent.first) for member, sent in link.sent.items()}
        to = {member: one_line(received.first) for member, received in link.received.items()}
        place = reach[index], lanes[index]
        named = [_end(each, devices.get((each, name), name), name) for each in link.members]
        found.append(DrawnLink(index + 1, name, named, *place, [*_said(said), *_received(to)]))
    return found


def _end(node: str, device: str, link: str) -> str:
    """Return a node with its interface, which usually has the name of the link."""
    return node if device == link else f"{node} {device}"


def _received(by_member: dict[str, str]) -> list[str]:
    return [f"to {member}: {words}" for member, words in by_member.items() if words]


def _said(by_member: dict[str, str]) -> list[str]:
    """Return the conditions in words: one line if all directions have the same."""
    if len(set(by_member.values())) == 1:
        (words,) = set(by_member.values())
        return [f"each direction: {words}"] if words else []
    return [f"from {member}: {words or 'none'}" for member, words in by_member.items()]
