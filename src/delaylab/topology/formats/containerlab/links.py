"""Links of a containerlab topology, in the brief format and the extended one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from delaylab.spec.source import Location
from delaylab.topology.builder import Builder
from delaylab.topology.edges import Edge
from delaylab.topology.formats.containerlab.addresses import Addresses
from delaylab.topology.formats.containerlab.nodes import LAN_KINDS, OUTSIDE_KINDS
from delaylab.topology.formats.containerlab.tree import Fields, Tree, fields, is_list, items, text
from delaylab.topology.formats.losses import Losses

OUTSIDE = frozenset({"host", "mgmt-net", "macvlan", "vxlan", "vxlan-stitch", "vxlan-stitched"})
"""Types of links that lead out of the lab; in the brief format an endpoint names them."""
INSIDE = ("", "veth", "veth-stitch")
DUMMY = "dummy"
LEADS_NOWHERE = "the interface is there and leads nowhere"
INSTEAD: Mapping[str, str] = {
    "host": "a node of `kind: native` is this machine",
    "mgmt-net": "`delaylab exec` and `cp` reach nodes without a management network",
    "macvlan": "a node with `interface:` is an interface of this machine",
}
"""Parts of a lab that take the place of a link which leads out of it."""
OF_TUNNELS = "`machines:` spread a lab over several, with tunnels between them"
TWICE = "a second interface of a node to one LAN"
MTU = range(1280, 65536)


@dataclass(frozen=True, slots=True)
class End:
    """An end of a link: a node, its interface, and what the extended format says of it."""

    node: str
    interface: str
    said: Fields


@dataclass
class Links:
    """The links of a topology as edges, and which of them each interface is an end of."""

    kinds: Mapping[str, str]
    """The kind of each node."""
    build: Builder
    losses: Losses
    edges: list[Edge] = field(default_factory=list)
    linked: dict[str, dict[str, int]] = field(default_factory=lambda: defaultdict(dict))
    """Node -> its interfaces, each with the number of the edge."""
    nowhere: set[int] = field(default_factory=set)
    """The numbers of edges that lead to no other node."""
    missing: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """Node -> the interfaces of links that the lab does not have."""
    _addresses: Addresses = field(default_factory=Addresses)
    _on_lan: set[tuple[str, str]] = field(default_factory=set)

    def read(self, links: Tree) -> None:
        """Read all links."""
        if links is not None and not is_list(links):
            line = self.losses.line(("topology", "links"))
            self.build.remarks.problem(line, "expected a list of links: left out")
        for index, link in enumerate(items(links)):
            self._read(("topology", "links", index), fields(link))

    def _read(self, at: Location, said: Fields) -> None:
        kind = text(said.get("type"))
        given = items(said.get("endpoints")) or [said.get("endpoint")]
        ends = [_end(each) for each in given]
        outside = kind if kind in OUTSIDE else self._outside(ends)
        if outside:
            self._lose(at, outside, ends)
        elif kind == DUMMY and len(ends) == 1 and ends[0].node in self.kinds:
            self._alone(at, said, ends[0])
        elif len(ends) == 2 and ends[0].node and ends[1].node:
            if kind not in INSIDE:
                self.losses.lose((*at, "type"), f"`type: {kind[:40]}` of a link")
            self._link(at, said, ends[0], ends[1])
        else:
            line = self.losses.line(at)
            self.build.remarks.problem(line, "expected a link with two endpoints: left out")

    def _outside(self, ends: list[End]) -> str:
        """Return what an end is that is outside of the lab; "" if both are nodes."""
        for end in ends:
            kind = self.kinds.get(end.node)
            if kind in OUTSIDE_KINDS:
                return str(kind)
            if kind is None and end.node in OUTSIDE:
                return end.node
        return ""

    def _lose(self, at: Location, what: str, ends: list[End]) -> None:
        """Name a link that leads out of the lab. Its interfaces of nodes are there all the same."""
        instead = INSTEAD.get(what, OF_TUNNELS if what.startswith("vxlan") else "")
        why = f"{LEADS_NOWHERE}; {instead}" if instead else LEADS_NOWHERE
        for end in ends:
            if self.kinds.get(end.node, "host") not in (*OUTSIDE_KINDS, *LAN_KINDS):
                self.losses.lose(at, f"a link to {what}", why, end.node)
                self._alone(at, {}, end)
        self.losses.lose(at, f"a link to {what}", why)

    def _alone(self, at: Location, said: Fields, end: End) -> None:
        """Add a network of which a node's interface is the only one."""
        self.nowhere.add(len(self.edges))
        lan = f"{DUMMY} {end.node} {end.interface}"
        self.build.lan(lan, self.losses.line(at), f"{end.node}-{end.interface}")
        self._add(at, said, end, End(lan, "", {}))

    def _link(self, at: Location, said: Fields, one: End, other: End) -> None:
        known = one.node in self.kinds and other.node in self.kinds and one.node != other.node
        if known and self._twice_on_a_lan(one.node, other.node):
            end = other if self.kinds[one.node] in LAN_KINDS else one
            self.losses.lose(at, TWICE, LEADS_NOWHERE, end.node)
            self._alone(at, said, end)
            return
        self._add(at, said, one, other)
        if not known:
            for end in (one, other):
                self.linked[end.node].pop(end.interface, None)
                self.missing[end.node].add(end.interface)

    def _twice_on_a_lan(self, one: str, other: str) -> bool:
        lans = [self.kinds[node] in LAN_KINDS for node in (one, other)]
        if not any(lans):
            return False
        if all(lans):
            return False
        pair = (one, other) if lans[0] else (other, one)
        twice = pair in self._on_lan
        self._on_lan.add(pair)
        return twice

    def _add(self, at: Location, said: Fields, one: End, other: End) -> None:
        number = len(self.edges)
        mtu = self._mtu(at, said)
        addresses = self._addresses_of(at, said, one, other)
        line = self.losses.line(at)
        devices = {end.node: end.interface for end in (one, other) if end.interface}
        edge = Edge(a=one.node, b=other.node, line=line, mtu=mtu, addresses=addresses)
        self.edges.append(replace(edge, devices=devices, number=number))
        for end in (one, other):
            self.linked[end.node][end.interface] = number
            for name in end.said:
                if name not in ("node", "interface", "ipv4", "ipv6"):
                    self.losses.lose(at, f"`{name}` of an endpoint")
        for name in said:
            if name not in ("type", "endpoints", "endpoint", "mtu", "ipv4", "ipv6"):
                self.losses.lose((*at, name), f"`{name}` of a link")

    def _mtu(self, at: Location, said: Fields) -> int | None:
        if "mtu" not in said:
            return None
        given = text(said["mtu"])
        mtu = int(given) if given.isdecimal() and len(given) < 6 else 0
        if mtu in MTU:
            return mtu
        why = f"it is from {MTU.start} to {MTU.stop - 1} bytes"
        self.losses.lose((*at, "mtu"), f"`mtu: {given[:20]}` of a link", why)
        return None

    def _addresses_of(
        self, at: Location, said: Fields, one: End, other: End
    ) -> dict[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        for version in ("ipv4", "ipv6"):
            brief = items(said.get(version))
            pair = [
                text(end.said.get(version)) or text(brief[index] if index < len(brief) else None)
                for index, end in enumerate((one, other))
            ]
            if not any(pair):
                continue
            systems = {one.node, other.node} <= {
                node for node, kind in self.kinds.items() if kind not in LAN_KINDS
            }
            if systems and self._addresses.take((one.node, other.node), (pair[0], pair[1])):
                for node, address in zip((one.node, other.node), pair, strict=True):
                    found[node] = (*found.get(node, ()), address)
            else:
                why = "delaylab's links have an address at each end, of one network, or none"
                self.losses.lose(at, f"`{version}` of a link", why)
        return found


def _end(given: Tree) -> End:
    """Return an end: `a:eth1`, or a mapping with `node` and `interface`."""
    said = fields(given)
    if said:
        return End(text(said.get("node")), text(said.get("interface")), said)
    node, _, interface = text(given).partition(":")
    return End(node, interface, {})
