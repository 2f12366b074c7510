"""Random networks, drawn with a seed: Waxman, Barabási-Albert, transit-stub."""

from __future__ import annotations

from itertools import pairwise

import networkx as nx

from delaylab.topology.generators.sketch import RADIUS, Sketch


def waxman(nodes: int, beta: float, alpha: float, seed: int) -> Sketch:
    """Make routers at random places; near ones are joined more often than far ones.

    Two are joined with probability β·exp(−d / (α·L)) (Waxman 1988), d their distance and L the
    largest one. Parts that no link joins are joined where they are nearest to each other.
    """
    graph = nx.waxman_graph(nodes, beta=beta, alpha=alpha, seed=seed)
    places: dict[int, tuple[float, float]] = nx.get_node_attributes(graph, "pos")
    sketch = Sketch()
    for node in range(nodes):
        x, y = places[node]
        sketch.node(_name(node), x * RADIUS, y * RADIUS)
    _link_all(sketch, graph)

    def apart(pair: tuple[int, int]) -> float:
        (ax, ay), (bx, by) = places[pair[0]], places[pair[1]]
        return (ax - bx) ** 2 + (ay - by) ** 2

    whole, *parts = sorted(nx.connected_components(graph), key=min)
    for part in parts:
        a, b = min(((a, b) for a in sorted(whole) for b in sorted(part)), key=apart)
        sketch.link(_name(a), _name(b))
        whole |= part
    return sketch


def barabasi_albert(nodes: int, links: int, seed: int) -> Sketch:
    """Make routers one by one, each joined to others that have many links already."""
    sketch = Sketch()
    for node in range(nodes):
        sketch.node(_name(node))
    _link_all(sketch, nx.barabasi_albert_graph(nodes, links, seed=seed))
    return sketch


def transit_stub(
    transits: int, transit_nodes: int, stubs: int, stub_nodes: int, seed: int
) -> Sketch:
    """Make transit domains that are all joined, and stub domains at each of their routers.

    Within a domain, half of all pairs are joined, and as many more as keep it in one part.
    """
    sketch = Sketch()
    number = 0

    def domain(names: list[str]) -> list[str]:
        nonlocal number
        number += 1
        graph = nx.gnp_random_graph(len(names), 0.5, seed=seed * 1_000_003 + number)
        heads = [min(part) for part in nx.connected_components(graph)]
        graph.add_edges_from(pairwise(sorted(heads)))
        for name in names:
            sketch.node(name)
        for a, b in sorted(graph.edges):
            sketch.link(names[a], names[b])
        return names

    transit = [
        domain([f"t{one}-{i}" for i in range(1, transit_nodes + 1)])
        for one in range(1, transits + 1)
    ]
    for index, one in enumerate(transit):
        for place, other in enumerate(transit[index + 1 :]):
            sketch.link(one[place % transit_nodes], other[index % transit_nodes])
    for routers in transit:
        for router in routers:
            for stub in range(1, stubs + 1):
                name = f"s{router[1:]}-{stub}"
                first, *_ = domain([f"{name}-{i}" for i in range(1, stub_nodes + 1)])
                sketch.link(router, first)
    return sketch


def _name(node: int) -> str:
    return f"r{node + 1}"


def _link_all(sketch: Sketch, graph: nx.Graph) -> None:
    for a, b in sorted(graph.edges):
        sketch.link(_name(a), _name(b))
