"""The forwarding tables that a network's routers should have: over the paths of the least cost.

All paths of the same cost are taken (RFC 2328, section 16.8). In a network of several areas paths
within an area come before others (section 16), and those between areas cross the backbone. A static
route comes before one of a protocol, and behind the router's own networks: of routes to one prefix
the one of the least administrative distance is taken.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import ip_network

from delaylab.forwarding.static import with_static
from delaylab.forwarding.tables import Hops, NextHop, Table
from delaylab.forwarding.topology import NO_FAULTS, Faults, Port, RouterLink, Topology

LOOPBACK = "lo"
ALONE = "/32"
"""The end of an IPv4 address without a network, which the table `local` alone has."""
Costs = dict[str, int]
"""Router -> the cost of the path to it."""


def expected_tables(topology: Topology, faults: Faults = NO_FAULTS) -> dict[str, Table]:
    """Return the table of each router that takes part, by the network as it is with its faults.

    A router's own prefixes have next hops without gateway, as the kernel sets them.
    """
    alive = [node for node in topology.loopbacks if faults.speaks(node)]
    versions = {ip_network(prefix).version: None for prefix in topology.networks}
    tables: dict[str, Table] = {node: {} for node in alive}
    for version in versions:
        for node, found in _Network(topology, faults, version).tables(alive):
            tables[node].update(found)
    for node, routes in topology.static.items():
        if node in tables:
            tables[node] = with_static(tables[node], routes)
    return tables


def is_torn(topology: Topology, faults: Faults = NO_FAULTS) -> bool:
    """Return True if parts of the backbone that are cut off from each other border other areas.

    RFC 2328 has no routes between them. Daemons differ: one that takes summaries from its other
    areas, too, finds some (RFC 3509).
    """
    if len({segment.area for segment in topology.segments}) < 2:
        return False
    versions = {ip_network(prefix).version: None for prefix in topology.networks}
    return any(_Network(topology, faults, version).is_torn for version in versions)


@dataclass(frozen=True)
class _Edge:
    """A way from a router over a link to the next router."""

    cost: int
    to: str
    hop: NextHop


class _Network:
    """A network of one IP version, with its faults."""

    def __init__(self, topology: Topology, faults: Faults, version: int) -> None:
        self._areas: dict[str, _Area] = defaultdict(_Area)
        self._backbone = topology.backbone
        self._connected: dict[str, Table] = defaultdict(dict)
        for segment in topology.segments:
            self._add(segment, faults, version)
        for node, prefixes in topology.loopbacks.items():
            if not faults.speaks(node):
                continue
            area = self._areas[topology.areas_of_loopbacks.get(node, "")]
            area.members[node] = None
            for prefix in prefixes:
                if _is_of(prefix, version):
                    area.advertised[prefix][node] = 0
                    if version == 6:
                        # Of IPv4 the kernel has it in the table `local` alone.
                        self._connected[node][prefix] = frozenset({NextHop(LOOPBACK)})

    def _add(self, segment: RouterLink, faults: Faults, version: int) -> None:
        ports = [each for each in segment.ports if faults.has_carrier(each.node, segment.link)]
        area = self._areas[segment.area]
        for port in segment.ports:
            keeps = port.keeps_address and port.spoken
            if keeps and port not in ports and faults.speaks(port.node):
                area.members[port.node] = None
                address = port.addresses.get(version)
                if address is not None and not port.hidden:
                    area.advertised[f"{address}/{32 if version == 4 else 128}"][port.node] = 0
        for port in (each for each in ports if faults.speaks(each.node)):
            if port.spoken:
                area.members[port.node] = None
            for prefix in port.networks:
                if _is_of(prefix, version):
                    if port.spoken and not port.hidden:
                        area.advertised[prefix][port.node] = faults.cost(port, segment.link)
                    if not prefix.endswith(ALONE):
                        self._connected[port.node][prefix] = frozenset({NextHop(port.device)})
        heard = [each for each in ports if each.heard and faults.exchanges(each.node, segment.link)]
        for port in heard:
            cost = faults.cost(port, segment.link)
            area.edges[port.node] += _edges(cost, port, heard, version)

    def tables(self, nodes: Iterable[str]) -> Iterator[tuple[str, Table]]:
        """Yield the table of each of these nodes."""
        paths = {
            name: {node: area.paths(node) for node in area.members}
            for name, area in self._areas.items()
        }
        between = self._between_areas(paths) if len(self._areas) > 1 else {}
        for node in nodes:
            own = self._connected[node]
            table: dict[str, tuple[int, Hops]] = {}
            for name, area in self._areas.items():
                if node in area.members:
                    _keep_least(table, area.routes(node, paths[name][node]))
            if between:
                others: dict[str, tuple[int, Hops]] = {}
                _keep_least(others, self._others(node, paths, between))
                table = others | table
            found = {prefix: hops for prefix, (_, hops) in table.items() if hops}
            yield node, {**found, **own}

    @property
    def is_torn(self) -> bool:
        """Return True if several parts of the backbone have routers of other areas."""
        others = (area for name, area in self._areas.items() if name != self._backbone)
        elsewhere = {node for area in others for node in area.members}
        backbone = self._areas[self._backbone]
        left = {node for node in backbone.members if node in elsewhere}
        if left:
            left -= backbone.paths(min(left)).costs.keys()
        return bool(left)

    def _between_areas(self, paths: Mapping[str, Mapping[str, _Paths]]) -> dict[str, Costs]:
        """Return what each border router tells the backbone: the cost of prefixes behind it."""
        backbone = self._areas[self._backbone]
        told: dict[str, Costs] = defaultdict(dict)
        for name, area in self._areas.items():
            if name == self._backbone:
                continue
            for border in (node for node in area.members if node in backbone.members):
                for prefix, cost, _ in area.routes(border, paths[name][border]):
                    told[border][prefix] = min(told[border].get(prefix, cost), cost)
        return told

    def _others(
        self,
        node: str,
        paths: Mapping[str, Mapping[str, _Paths]],
        told: Mapping[str, Costs],
    ) -> Iterator[tuple[str, int, Hops]]:
        """Yield the ways to prefixes of other areas: over the backbone's or an area's borders."""
        backbone = self._areas[self._backbone]
        if node in backbone.members:
            yield from _over_borders(paths[self._backbone][node], told)
            return
        for name, area in self._areas.items():
            if node not in area.members:
                continue
            borders = {each: None for each in area.members if each in backbone.members}
            summaries = {each: self._summary(each, paths, told) for each in borders}
            yield from _over_borders(paths[name][node], summaries)

    def _summary(
        self,
        border: str,
        paths: Mapping[str, Mapping[str, _Paths]],
        told: Mapping[str, Costs],
    ) -> Costs:
        """Return the costs of all prefixes from a border router, which it tells its areas."""
        found: dict[str, tuple[int, Hops]] = {}
        _keep_least(found, _over_borders(paths[self._backbone][border], told))
        inside: dict[str, tuple[int, Hops]] = {}
        _keep_least(
            inside, self._areas[self._backbone].routes(border, paths[self._backbone][border])
        )
        for name, area in self._areas.items():
            if name != self._backbone and border in area.members:
                _keep_least(inside, area.routes(border, paths[name][border]))
        return {prefix: cost for prefix, (cost, _) in (found | inside).items()}


@dataclass
class _Paths:
    """The paths of the least cost from one router: their costs and first hops, by router."""

    costs: Costs
    hops: dict[str, Hops]


class _Area:
    """The routers of an area, the links between them, and the prefixes that they announce."""

    def __init__(self) -> None:
        self.members: dict[str, None] = {}
        self.edges: dict[str, list[_Edge]] = defaultdict(list)
        self.advertised: dict[str, Costs] = defaultdict(dict)

    def paths(self, start: str) -> _Paths:
        """Return the paths of the least cost from a router to all others (Dijkstra's algorithm)."""
        costs: Costs = {start: 0}
        hops: dict[str, Hops] = {start: frozenset()}
        done: set[str] = set()
        waiting = [(0, start)]
        while waiting:
            cost, node = heapq.heappop(waiting)
            if node in done:
                continue
            done.add(node)
            for edge in self.edges[node]:
                there = cost + edge.cost
                before = costs.get(edge.to)
                if before is not None and there > before:
                    continue
                first = frozenset({edge.hop}) if node == start else hops[node]
                if before is None or there < before:
                    costs[edge.to], hops[edge.to] = there, first
                    heapq.heappush(waiting, (there, edge.to))
                elif not first <= hops[edge.to]:
                    hops[edge.to] |= first
        return _Paths(costs, hops)

    def routes(self, node: str, paths: _Paths) -> Iterator[tuple[str, int, Hops]]:
        """Yield each prefix of the area with the cost and the hops from a router to it."""
        costs, hops = paths.costs, paths.hops
        for prefix, owners in self.advertised.items():
            for owner, beyond in owners.items():
                if owner in costs:
                    yield prefix, costs[owner] + beyond, hops[owner]


def _over_borders(paths: _Paths, told: Mapping[str, Costs]) -> Iterator[tuple[str, int, Hops]]:
    for border, prefixes in told.items():
        if border in paths.costs:
            cost, hops = paths.costs[border], paths.hops[border]
            for prefix, beyond in prefixes.items():
                yield prefix, cost + beyond, hops


def _keep_least(
    table: dict[str, tuple[int, Hops]], routes: Iterable[tuple[str, int, Hops]]
) -> None:
    """Add routes to a table, where only those of the least cost stay."""
    for prefix, cost, hops in routes:
        least = table.get(prefix)
        if least is None or cost < least[0]:
            table[prefix] = cost, hops
        elif cost == least[0] and hops is not least[1]:
            table[prefix] = cost, least[1] | hops


def _edges(cost: int, port: Port, ports: Iterable[Port], version: int) -> Iterator[_Edge]:
    for other in ports:
        gateway = port.gateway(other, version)
        if other.node != port.node and gateway is not None:
            yield _Edge(cost, other.node, NextHop(port.device, gateway))


def _is_of(prefix: str, version: int) -> bool:
    return (":" in prefix) == (version == 6)
