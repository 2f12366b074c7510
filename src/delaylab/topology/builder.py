"""Building of a map from what a reader finds: nodes by key, links, directions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from delaylab.errors import BadInput
from delaylab.spec.counts import MOST_LINKS, MOST_NODES
from delaylab.topology import remarks as odd
from delaylab.topology.devices import with_devices
from delaylab.topology.edges import Edge, both_ways, remark_parallel
from delaylab.topology.lans import without_lans
from delaylab.topology.model import Map, MapNode, Position
from delaylab.topology.names import lan_name, link_names, node_names
from delaylab.topology.remarks import Remarks

LONGEST_LABEL = 200


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
    _lans: dict[str, int] = field(default_factory=dict)
    _lan_names: dict[str, str] = field(default_factory=dict)

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

    def lan(self, key: str, line: int, wanted: str = "") -> None:
        """Add a LAN, a network that edges join nodes to; its name is made as that of a node."""
        self._lans[key] = line
        self._lan_names[key] = wanted or key

    def knows(self, key: str) -> bool:
        """Return True if the map has a node of this key."""
        return key in self._nodes

    def _has(self, key: str) -> bool:
        return key in self._nodes or key in self._lans

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
        wanted = {key: found.wanted for key, found in self._nodes.items()}
        names = node_names({**wanted, **self._lan_names})
        edges, lans = without_lans(self._usable(), self._lans, self.remarks)
        links = [
            replace(
                link,
                a=names[link.a],
                b=names[link.b],
                addresses={names[key]: given for key, given in link.addresses.items()},
                devices={names[key]: given for key, given in link.devices.items()},
            )
            for link in both_ways(edges, self.remarks)
        ]
        lans = [
            replace(
                lan,
                members=tuple(names[each] for each in lan.members),
                devices={names[key]: given for key, given in lan.devices.items()},
            )
            for lan in lans
        ]
        if not links and not lans and self.remarks.unfit:
            raise self._nothing("links")
        if len(links) > MOST_LINKS:
            raise self._refuse(f"more than {MOST_LINKS} links", 0)
        called = link_names([(link.a, link.b) for link in links])
        named = [replace(link, name=name) for link, name in zip(links, called, strict=True)]
        remark_parallel(links, self.remarks)
        for lan in lans:
            name = lan_name(names[lan.name], {each.name for each in named})
            named.append(replace(lan, name=name))
        named = with_devices(named, self.remarks)
        return Map(
            name=self.name,
            format=self.format,
            nodes=tuple(replace(found.node, name=names[key]) for key, found in self._nodes.items()),
            links=tuple(named),
            source=self.source,
            assumptions=self.remarks.lines(),
            problems=tuple(self.remarks.problems),
            malformed=self.remarks.malformed,
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
            if not (self._has(edge.a) and self._has(edge.b)):
                self.remarks.count(odd.NO_NODE, edge.line)
            elif edge.a == edge.b:
                self.remarks.count(odd.SELF_LOOP, edge.line)
            else:
                found.append(edge)
        return found
