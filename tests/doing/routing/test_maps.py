"""Labs of maps run, and packets take as long as the map says."""

from __future__ import annotations

import itertools
import os
import random
import re
import statistics
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import networkx as nx
import pytest

import delaylab
from delaylab.api.labs import RunningLab
from delaylab.lab.start import temporary
from delaylab.resolve.resolve import resolve
from delaylab.spec.lab import EngineSpec

pytestmark = [pytest.mark.root]
ROOT = Path(__file__).parents[3]
AS1755 = ROOT / "examples" / "as1755"
LEAST = re.compile(r"^(\S+) .*= ([0-9.]+)/", re.M)
PINGS = (
    "for to in {to}; do "
    "echo $to $(ping -q -c {count} -i {interval} -W 3 $to | tail -n 1) & done; wait"
)
"""Programs that ping several nodes at the same time, and print the last line of each."""
Pair = tuple[str, str]


def least_trips(
    lab: RunningLab, pairs: Iterable[Pair], count: int, interval: float = 0.2
) -> dict[Pair, float]:
    """Return the least round trip in ms of each pair; all are pinged at the same time."""
    goals: dict[str, list[str]] = {}
    for start, goal in pairs:
        goals.setdefault(start, []).append(goal)

    def ping(start: str) -> dict[Pair, float]:
        script = PINGS.format(to=" ".join(goals[start]), count=count, interval=interval)
        said = lab.node(start).run(["sh", "-c", script]).stdout
        return {(start, goal): float(text) for goal, text in LEAST.findall(said)}

    with ThreadPoolExecutor(10) as pool:
        parts = list(pool.map(ping, goals))
    return {pair: each for part in parts for pair, each in part.items()}


def delays(lab: delaylab.Lab) -> nx.Graph:
    """Return the lab's links with their costs and delays; of parallel ones the cheapest."""
    graph = nx.Graph()
    for link in lab.written.links:
        a, b = link.members
        if link.cost < graph.get_edge_data(a, b, {"cost": 1 << 20})["cost"]:
            graph.add_edge(a, b, cost=link.cost, ms=int(link.delay or 0) / 1e6)
    return graph


def round_trip(graph: nx.Graph, pair: Pair) -> float:
    """Return the round trip in ms over the path of the least cost."""
    path = nx.dijkstra_path(graph, *pair, weight="cost")
    return 2 * float(sum(graph.edges[edge]["ms"] for edge in nx.utils.pairwise(path)))


def test_a_map_of_a_provider_runs_with_its_delays() -> None:
    """No packet is early; how late one may be depends on the machine."""
    made = delaylab.import_map(AS1755, cost="delay")
    graph, names = delays(made.lab), list(made.lab.nodes)
    pairs = [(names[i], names[-1 - i]) for i in range(0, 40, 4)]
    with delaylab.up(made.lab) as lab:
        found = least_trips(lab, pairs, count=3)
    for pair in pairs:
        least = round_trip(graph, pair)
        assert least <= found[pair] < least + 50, pair


def clouds(folder: Path, regions: int) -> tuple[Path, dict[Pair, float]]:
    """Write a matrix of round trips from 10 to 300 ms."""
    drawn = random.Random(25)
    names = [f"region-{number}" for number in range(1, regions + 1)]
    cells = {pair: round(drawn.uniform(10, 300), 2) for pair in itertools.combinations(names, 2)}
    rows = [["", *names]]
    for a in names:
        row = [str(cells.get((a, b), cells.get((b, a), 0))) for b in names]
        rows.append([a, *row])
    file = folder / "clouds.csv"
    file.write_text("".join(",".join(row) + "\n" for row in rows))
    return file, cells


@pytest.mark.slow
def test_every_pair_of_a_matrix_has_its_round_trip(tmp_path: Path) -> None:
    """25 regions, 300 links: the median of every pair is within 1 % of the matrix."""
    file, cells = clouds(tmp_path, 25)
    with delaylab.up(delaylab.import_map(file, one_way=False).lab) as lab:

        def median(pair: Pair) -> float:
            result = lab.node(pair[0]).ping(lab.node(pair[1]), count=9, interval="20ms")
            found = [
                each.rtt_kernel_ns for each in result.packets if each.rtt_kernel_ns is not None
            ]
            assert len(found) == 9
            return float(statistics.median(found)) / 1e6

        with ThreadPoolExecutor(4) as pool:
            medians = dict(zip(cells, pool.map(median, cells), strict=True))
    off = {pair: medians[pair] / cells[pair] - 1 for pair in cells}
    assert min(off.values()) >= 0
    assert max(off.values()) <= 0.01


@pytest.mark.slow
def test_random_pairs_of_europe_take_as_long_as_their_paths() -> None:
    """200 pairs over 852 routers: all within 1 % or 100 µs, with a CPU for the link engine.

    Each pair is pinged alone, and the least of its pings counts. A round trip crosses up to 108
    links, and each adds some microseconds: of the engine, which sends a frame after it is due, and
    of the router. Often pinged, both have what they need in the CPU's caches.
    """
    cpus = os.cpu_count() or 1
    if cpus == 1:
        pytest.skip("needs a CPU for the link engine, and another one")
    made = delaylab.import_map("topohub:backbone/europe")
    engine = EngineSpec.model_validate({"kind": "own", "cpus": [cpus - 1]})
    graph, drawn = delays(made.lab), random.Random(200)
    names = list(made.lab.nodes)
    pairs = [(a, b) for a, b in (drawn.sample(names, 2) for _ in range(200))]
    beyond_ms = {}
    with temporary(resolve(made.lab.written.model_copy(update={"engine": engine}))) as lab:
        for pair in pairs:
            found = least_trips(RunningLab(lab), [pair], count=200, interval=0.005)[pair]
            least = round_trip(graph, pair)
            assert found >= least
            beyond_ms[pair] = found - least - max(0.01 * least, 0.1)
    assert max(beyond_ms.values()) <= 0, {p: ms for p, ms in beyond_ms.items() if ms > 0}
