"""The routes of an imported map are the shortest paths of its source, with their delays.

networkx finds the paths, in a graph that is made of the source without our readers.
"""

from __future__ import annotations

import ipaddress
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import networkx as nx
import pytest
import topohub

import delaylab
from delaylab.kinds import KINDS
from delaylab.plan.build import build
from delaylab.plan.kind import Rights
from delaylab.plan.model import Plan, Route
from delaylab.resolve.lab import Lab

AS1755 = Path(__file__).parents[2] / "examples" / "as1755"
EUROPE = "topohub:backbone/europe"
UNIT_NS = 200
"""The delay that a cost of 1 stands for in that map: costs are rounded to it."""


@dataclass(frozen=True)
class Hop:
    node: str
    cost: int
    delay_ns: int


class Routers:
    """The routing tables of a planned lab, followed as a kernel follows them."""

    def __init__(self, lab: Lab, plan: Plan) -> None:
        links = {link.name: link for link in lab.written.links}
        self._owner: dict[int, tuple[str, int, int]] = {}
        self.loopback: dict[str, int] = {}
        node_of = {planned.stack: name for name, planned in plan.nodes.items()}
        for name, planned in plan.nodes.items():
            loopback = planned.loopback(4)
            assert loopback is not None
            self.loopback[name] = int(ipaddress.ip_address(loopback))
            for each in planned.attachments:
                link = links[each.link]
                for interface in each.interfaces():
                    delay = int(link.delay or 0)
                    self._owner[int(interface.ip)] = (name, link.cost_of(name), delay)
        self._tables: dict[str, dict[int, dict[int, str]]] = defaultdict(lambda: defaultdict(dict))
        for route in plan.operations:
            if isinstance(route, Route) and len(route.via) == 1:
                for to in route.to:
                    network = ipaddress.ip_network(to)
                    table = self._tables[node_of[route.agent]][network.prefixlen]
                    table[int(network.network_address)] = route.via[0]

    def hop(self, node: str, goal: int) -> Hop:
        """Return the next hop of a node, by its longest prefix that has the address."""
        for length, table in sorted(self._tables[node].items(), reverse=True):
            via = table.get(goal >> (32 - length) << (32 - length))
            if via is not None:
                return Hop(*self._owner[int(ipaddress.ip_address(via))])
        raise AssertionError(f"{node} has no route")

    def ways_to(self, goal: str) -> dict[str, tuple[int, int, int]]:
        """Return the cost, the delay and the hops of each node's way to another's loopback."""
        found = {goal: (0, 0, 0)}
        for start in self.loopback:
            way: list[tuple[str, Hop]] = []
            node = start
            while node not in found:
                way.append((node, self.hop(node, self.loopback[goal])))
                node = way[-1][1].node
                assert len(way) <= len(self.loopback), "a circle"
            for node, hop in reversed(way):
                cost, delay, hops = found[hop.node]
                found[node] = cost + hop.cost, delay + hop.delay_ns, hops + 1
        return found


def routers(lab: Lab) -> Routers:
    return Routers(lab, build(lab, KINDS, Rights(root=True)))


def test_every_pair_of_as_1755_has_the_least_weight_of_the_source() -> None:
    lab = delaylab.import_map(AS1755).lab
    graph = nx.DiGraph()
    for file in ("weights", "latencies"):
        for line in (AS1755 / f"{file}.intra").read_text().splitlines():
            a, b, value = line.split()
            graph.add_edge(number(a), number(b), **{file: float(value)})
    table = routers(lab)
    pairs = 0
    for goal in lab.nodes:
        least = nx.single_source_dijkstra_path_length(graph, number(goal), weight="weights")
        for start, (cost, delay, _) in table.ways_to(goal).items():
            assert cost == 2 * least[number(start)]
            delays = {
                sum(graph.edges[edge]["latencies"] for edge in nx.utils.pairwise(path))
                for path in nx.all_shortest_paths(graph, number(start), number(goal), "weights")
            }
            assert delay / 1e6 in delays
            pairs += 1
    assert pairs == 87 * 87


def number(name: str) -> str:
    """Return the number of a router, by which both the source and the lab know it."""
    return "".join(filter(str.isdigit, name))


def check_europe(goals: int | None) -> None:
    lab = delaylab.import_map(EUROPE).lab
    source = nx.node_link_graph(topohub.get("backbone/europe"), edges="edges")
    assert (len(lab.nodes), len(lab.links)) == (852, 1287)
    # The import keeps the order of the source's nodes.
    key = dict(zip(lab.nodes, source.nodes, strict=True))
    table = routers(lab)
    for goal in list(lab.nodes)[:: 1 if goals is None else 852 // goals]:
        least = nx.single_source_dijkstra_path_length(source, key[goal], weight="dist")
        for start, (_, delay, hops) in table.ways_to(goal).items():
            shortest = least[key[start]] * 5_000
            # Costs are delays rounded to the unit, so that a way may be as much longer.
            assert shortest - 1 <= delay <= shortest + 1 + UNIT_NS * hops


def test_routes_over_europe_have_the_delays_of_the_shortest_paths() -> None:
    check_europe(goals=40)


@pytest.mark.slow
def test_every_pair_of_europe_has_the_delay_of_the_shortest_path() -> None:
    check_europe(goals=None)
