"""Building of a map from what a reader finds: nodes by key, links, directions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from delaylab.errors import BadInput
from delaylab.spec.counts import MOST_LINKS, MOST_NODES
from delaylab.topology import remarks as odd
from delaylab.topology.model import Map, MapLink, MapNode, Position
from delaylab.topology.names import link_names, node_names
from delaylab.topology.remarks import Remarks

LONGEST_LABEL = 200


@dataclass(frozen=True, slots=True)
class Edge:
    """A line of a source that joins two nodes: a link, or one direction of it."""

    a: str
    b: str
    line: int = 0
    delay: int | None = None
    capacity: int | None = None
    cost: Fraction | None = None
    directed: bool = False


@dataclass(frozen=True, slots=True)
class _Found:
    """A node of the source: its own name, if it has one beside its key, and what is known of it."""

    node: MapNode
    wanted: str


@dataclass
class Builder:
    """A map in the making. Keys are the source's identifiers of nodes."""

    name: str
    format: str
    source: str
    remarks: Remarks = field(default_factory=Remarks)
    _nodes: dict[str, _Found] = field(default_factory=dict)
    _edges: list[Edge] = field(default_factory=list)

    def node(
        self,
        key: str,
        *,
        line: int = 0,
        wanted: str = "",
        label: str = "",
        at: Position | None = None,
        forwards: bool = True,
        fields: Mapping[str, object] | None = None,
    ) -> None:
        """Add a node. Its name is made of `wanted`, else of the key; `label` is for its reader."""
        if key in self._nodes:
            self.remarks.count(odd.NODE_TWICE, line)
            return
        if len(self._nodes) == MOST_NODES:
            raise self._refuse(f"more than {MOST_NODES} nodes", line)
        if len(label) > LONGEST_LABEL:
            label = f"{label[:LONGEST_LABEL]} …"
        node = MapNode("", label, at, line, forwards, fields or {})
        self._nodes[key] = _Found(node, wanted or key)

    def knows(self, key: str) -> bool:
        """Return True if the map has a node of this key."""
        return key in self._nodes

    def edge(self, edge: Edge) -> None:
        """Add a link, or one direction of it."""
        if len(self._edges) == 2 * MOST_LINKS:
            raise self._refuse(f"more than {MOST_LINKS} links", edge.line)
        self._edges.append(edge)

    def _refuse(self, what: str, line: int) -> BadInput:
        place = f"{self.source}:{line}" if line else self.source
        return BadInput(f"the map has {what}", place, "see docs/limits.md")

    def finish(self) -> Map:
        """Return the map.

        Raises BadInput if it has no nodes, or if lines are malformed and no link is left.
        """
        if not self._nodes:
            raise self._nothing("nodes")
        self._refuse_more_wrong_than_right()
        names = node_names({key: found.wanted for key, found in self._nodes.items()})
        links = [
            replace(link, a=names[link.a], b=names[link.b])
            for link in _both_ways(self._usable(), self.remarks)
        ]
        if not links and self.remarks.problems:
            raise self._nothing("links")
        if len(links) > MOST_LINKS:
            raise self._refuse(f"more than {MOST_LINKS} links", 0)
        called = link_names([(link.a, link.b) for link in links])
        _remark_parallel(links, self.remarks)
        return Map(
            self.name,
            self.format,
            tuple(replace(found.node, name=names[key]) for key, found in self._nodes.items()),
            tuple(replace(link, name=name) for link, name in zip(links, called, strict=True)),
            self.source,
            self.remarks.lines(),
            tuple(self.remarks.problems),
            self.remarks.malformed,
        )

    def _refuse_more_wrong_than_right(self) -> None:
        """Raise BadInput if more lines are malformed than there are lines of use."""
        right = {found.node.line for found in self._nodes.values()}
        right |= {edge.line for edge in self._edges}
        here = (self.source, self.remarks.source)
        wrong = {line for file, line in self.remarks.unfit if file in here} - right
        if len(wrong) <= len(right):
            return
        first = self.remarks.problems[0]
        what = f"{len(wrong)} lines do not fit, {len(right)} do; the first one: {first.what}"
        place = f"{first.file or self.source}:{first.line}"
        raise BadInput(f"{self.format}: {what}", place, "is it of another format (--format)?")

    def _nothing(self, lacking: str) -> BadInput:
        """Return the error for a source that lacks them; its first malformed line explains it."""
        if not self.remarks.problems:
            return BadInput(f"{self.format}: there are no {lacking} in it", self.source)
        first = self.remarks.problems[0]
        more = f", and {self.remarks.malformed - 1} more lines" * (self.remarks.malformed > 1)
        place = f"{first.file or self.source}:{first.line}"
        return BadInput(f"{self.format}: {first.what}{more}; there are no {lacking} in it", place)

    def _usable(self) -> list[Edge]:
        """Return the edges between two nodes that the map has."""
        found = []
        for edge in self._edges:
            if edge.a not in self._nodes or edge.b not in self._nodes:
                self.remarks.count(odd.NO_NODE, edge.line)
            elif edge.a == edge.b:
                self.remarks.count(odd.SELF_LOOP, edge.line)
            else:
                found.append(edge)
        return found


def _both_ways(edges: list[Edge], remarks: Remarks) -> list[MapLink]:
    """Return the links: each undirected edge, and each two directed ones that belong together.

    Of several directed edges from one node to another, the first belongs to the first in the other
    direction, the second to the second, and so on.
    """
    waiting: dict[tuple[str, str], list[int]] = defaultdict(list)
    links: list[MapLink] = []
    for edge in edges:
        back = waiting[edge.b, edge.a] if edge.directed else []
        if back:
            index = back.pop(0)
            links[index] = _merged(links[index], edge, remarks)
            continue
        if edge.directed:
            waiting[edge.a, edge.b].append(len(links))
        links.append(
            MapLink(
                edge.a,
                edge.b,
                "",
                delay=edge.delay,
                capacity=edge.capacity,
                cost=edge.cost,
                line=edge.line,
            )
        )
    alone = [index for indices in waiting.values() for index in indices]
    if alone and len(alone) == len(links):
        remarks.say("every link is in the source in one direction only: taken for both")
    else:
        for index in alone:
            remarks.count(odd.ONE_WAY, links[index].line)
    return links


def _merged(link: MapLink, back: Edge, remarks: Remarks) -> MapLink:
    """Return a link with its second direction."""
    if None not in (link.cost, back.cost) and link.cost != back.cost:
        remarks.count(odd.TWO_COSTS, back.line)
    if None not in (link.capacity, back.capacity) and link.capacity != back.capacity:
        remarks.count(odd.TWO_CAPACITIES, back.line)
    capacities = [each for each in (link.capacity, back.capacity) if each is not None]
    differs = None not in (link.delay, back.delay) and link.delay != back.delay
    if differs:
        remarks.count(odd.TWO_DELAYS, back.line)
    return replace(
        link,
        delay=back.delay if link.delay is None else link.delay,
        delay_back=back.delay if differs else None,
        capacity=max(capacities, default=None),
        cost=back.cost if link.cost is None else link.cost,
    )


def _remark_parallel(links: list[MapLink], remarks: Remarks) -> None:
    seen = set()
    for link in links:
        pair = frozenset((link.a, link.b))
        if pair in seen:
            remarks.count(odd.PARALLEL, link.line)
        seen.add(pair)
