"""Benchmark of placement: each method on labs of 87 to 10,000 nodes."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from pathlib import Path

import networkx as nx

from benches.section import Section
from delaylab import import_map
from delaylab.placement import Host, Infeasible, NumberedLink, Placement, Problem
from delaylab.placement.groups import Groups, grouped
from delaylab.placement.improve import repaired
from delaylab.placement.partition import metis, partition
from delaylab.placement.worst_fit import worst_fit
from delaylab.resolve.hosts import problem_of
from delaylab.spec.placing import PlacementSpec

NODES_OF_A_HOST = 10
"""As V-eM's (vem2006, section III C)."""
ROUNDS = 3
AS_1755 = Path(__file__).parent.parent / "examples" / "as1755"
METHODS: dict[str, Callable[[Groups], list[int]]] = {
    "`worst-fit` (V-eM)": worst_fit,
    "METIS alone": lambda groups: partition(groups, 1),
    "METIS, then repair": lambda groups: repaired(groups, partition(groups, 1)).host_of,
    "`metis` of delaylab": metis,
}


def run() -> Section:
    """Place each lab by each method; the fastest of three rounds counts."""
    section = Section(
        "placement",
        "Placement of nodes on hosts",
        f"Each host takes {NODES_OF_A_HOST} nodes, as V-eM's. Links need 10, 100 and 1000 Mbit/s "
        "in turn; in AS 1755 each needs the same. *Fullest*: the load of the fullest host, as a "
        "multiple of what no placement can be below. *Crosses*: the part of all links' bandwidth "
        "that is between hosts. METIS alone does not know how many nodes a host takes. *Time*: "
        "from the problem to the answer, the fastest of three. Goal: 10,000 nodes with 30,000 "
        "links on 1000 hosts in under 1 s, fullest at most 1.10, and no more across than METIS "
        "with repair.",
        ("lab", "method", "fullest", "most nodes", "crosses", "time"),
    )
    for name, problem in _problems().items():
        for method, place in METHODS.items():
            section.rows.append((name, method, *_figures(problem, place)))
    return section


def _figures(problem: Problem, place: Callable[[Groups], list[int]]) -> tuple[str, ...]:
    times, found = [], None
    for _ in range(ROUNDS):
        fresh = Problem(problem.nodes, problem.links, problem.hosts, problem.pinned)
        began_s = time.perf_counter()
        try:
            groups = grouped(fresh)
            chosen = place(groups)
        except Infeasible as error:
            return (str(error), "", "", "")
        times.append(time.perf_counter() - began_s)
        host_of = tuple(chosen[group] for group in groups.of)
        found = Placement(fresh, "given", host_of, (), groups.bound)
    assert found is not None
    fullest = found.largest / found.bound
    return f"{fullest:.3f}", str(max(found.nodes)), f"{found.cut:.1%}", f"{min(times):.2f} s"


def _problems() -> dict[str, Problem]:
    isp = problem_of(import_map(AS_1755).lab, PlacementSpec())
    return {
        "AS 1755: 87 nodes, 161 links, 9 hosts": Problem(
            isp.nodes, isp.links, _hosts(9), (None,) * len(isp.nodes)
        ),
        "random, 1000 nodes, 3000 links, 100 hosts": _random(nx.gnm_random_graph, 1_000),
        "random, 10,000 nodes, 30,000 links, 1000 hosts": _random(nx.gnm_random_graph, 10_000),
        "Barabási-Albert, 10,000 nodes, 29,991 links, 1000 hosts": _random(
            lambda nodes, links, seed: nx.barabasi_albert_graph(nodes, links // nodes, seed), 10_000
        ),
    }


def _random(make: Callable[..., nx.Graph], nodes: int) -> Problem:
    graph = make(nodes, 3 * nodes, seed=1)
    needs = itertools.cycle((10, 100, 1000))
    links = tuple(
        NumberedLink(f"l{number}", edge, next(needs) * 10**6)
        for number, edge in enumerate(graph.edges)
    )
    names = tuple(f"n{node}" for node in graph)
    return Problem(names, links, _hosts(nodes // NODES_OF_A_HOST), (None,) * nodes)


def _hosts(count: int) -> tuple[Host, ...]:
    return tuple(Host(f"h{number}", NODES_OF_A_HOST) for number in range(count))
