"""Generated networks: valid, connected, of the size that was asked for, the same for a seed."""

# ruff: noqa: PT017  (an error may come or not: that is what is tested)
from __future__ import annotations

import json
from pathlib import Path

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import delaylab
from delaylab.errors import BadInput
from delaylab.resolve.lab import Lab
from delaylab.topology.generators import GENERATORS, Parameter
from tests.command import delaylab as command

SMALL: dict[str, dict[str, float]] = {
    "ring": {"nodes": 5},
    "line": {"nodes": 4},
    "star": {"leaves": 6},
    "grid": {"rows": 3, "columns": 4},
    "torus": {"rows": 3, "columns": 4},
    "fat-tree": {"k": 4},
    "leaf-spine": {"leaves": 3, "spines": 2, "hosts": 2},
    "waxman": {"nodes": 30},
    "barabasi-albert": {"nodes": 30, "links": 3},
    "transit-stub": {},
}
COUNTS = {
    "ring": (5, 5),
    "line": (4, 3),
    "star": (7, 6),
    "grid": (12, 17),
    "torus": (12, 24),
    "fat-tree": (4 + 16 + 16, 48),
    "leaf-spine": (3 + 2 + 6, 6 + 6),
    "waxman": (30, None),
    "barabasi-albert": (30, 3 * 27),
    "transit-stub": (8 + 8 * 2 * 4, None),
}


def graph(lab: Lab) -> nx.MultiGraph:
    found = nx.MultiGraph()
    found.add_nodes_from(lab.nodes)
    found.add_edges_from(link.members for link in lab.written.links)
    return found


def test_every_generator_is_tested() -> None:
    assert set(SMALL) == set(COUNTS) == set(GENERATORS)


@pytest.mark.parametrize("shape", SMALL)
def test_it_has_the_size_that_was_asked_for(shape: str) -> None:
    lab = delaylab.generate(shape, SMALL[shape]).lab
    nodes, links = COUNTS[shape]
    assert len(lab.nodes) == nodes
    assert links is None or len(lab.links) == links
    assert nx.is_connected(graph(lab))
    assert all(len(str(link.name)) <= 15 for link in lab.written.links)


def test_shapes_are_what_they_are_called() -> None:
    def made(shape: str) -> nx.Graph:
        return nx.Graph(graph(delaylab.generate(shape, SMALL[shape]).lab))

    assert nx.is_isomorphic(made("ring"), nx.cycle_graph(5))
    assert nx.is_isomorphic(made("line"), nx.path_graph(4))
    assert nx.is_isomorphic(made("star"), nx.star_graph(6))
    assert nx.is_isomorphic(made("grid"), nx.grid_2d_graph(3, 4))
    assert nx.is_isomorphic(made("torus"), nx.grid_2d_graph(3, 4, periodic=True))
    tree = made("fat-tree")
    assert sorted({degree for _, degree in tree.degree}) == [1, 4]
    assert nx.diameter(tree) == 6
    spine = made("leaf-spine")
    assert all(spine.has_edge(f"leaf{i}", f"spine{j}") for i in (1, 2, 3) for j in (1, 2))


@pytest.mark.parametrize("shape", [name for name, each in GENERATORS.items() if each.seeded])
def test_a_seed_decides_the_network(shape: str) -> None:
    one, same, other = (
        delaylab.generate(shape, SMALL[shape], seed=seed).text for seed in (1, 1, 2)
    )
    assert one == same
    assert one.splitlines()[1:] != other.splitlines()[1:]


def values(each: Parameter) -> st.SearchStrategy[float]:
    if isinstance(each.low, float):
        return st.floats(each.low, min(each.high, 1.0))
    return st.integers(int(each.low), min(int(each.high), int(each.low) + 6))


@given(data=st.data(), shape=st.sampled_from(list(GENERATORS)), seed=st.integers(0, 99))
@settings(max_examples=150, deadline=None)
def test_any_sizes_make_a_connected_lab_or_are_refused(
    data: st.DataObject, shape: str, seed: int
) -> None:
    sizes = {each.name: data.draw(values(each)) for each in GENERATORS[shape].parameters}
    try:
        lab = delaylab.generate(shape, sizes, seed=seed, delay="1ms..2ms").lab
    except BadInput as error:
        assert shape in str(error)
    else:
        assert nx.is_connected(graph(lab))


def test_each_link_draws_from_the_range() -> None:
    made = delaylab.generate(
        "grid", {"rows": 8, "columns": 8}, delay="1ms..10ms", rate="1Mbit..1Gbit"
    )
    delays = [int(link.delay) for link in made.lab.written.links if link.delay is not None]
    rates = [int(link.rate.limit) for link in made.lab.written.links if link.rate is not None]
    assert len(delays) == len(rates) == 2 * 8 * 7
    assert all(1_000_000 <= delay <= 10_000_000 for delay in delays)
    assert all(10**6 <= rate <= 10**9 for rate in rates)
    assert len(set(delays)) > 50
    assert max(delays) - min(delays) > 7_000_000


def test_a_larger_network_keeps_the_delays_of_its_links() -> None:
    small, large = (
        {
            link.name: link.delay
            for link in delaylab.generate("line", {"nodes": n}, delay="1ms..9ms").lab.written.links
        }
        for n in (5, 9)
    )
    assert small.items() <= large.items()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["rin", "3"], "no generator 'rin'; did you mean 'ring'?"),
        (["ring"], "a ring needs `nodes` (delaylab generate ring NODES)"),
        (["ring", "2"], "`nodes` of a ring is a whole number from 3 to 10000, got 2"),
        (["ring", "x"], "got 'x'"),
        (["ring", "3", "4"], "a ring has 1 parameters (nodes)"),
        (["ring", "3", "nodes=4"], "'nodes' is given twice"),
        (["ring", "size=4"], "a ring has no 'size' (parameters: nodes)"),
        (["fat-tree", "3"], "`k` of a fat-tree is even, got 3"),
        (["grid", "1000", "1000"], "more than 10000 nodes"),
        (["waxman", "5", "beta=nan"], "`beta` of a waxman is a number from 0.0 to 1.0, got nan"),
        (["barabasi-albert", "3", "3"], "is less than its nodes"),
        (["ring", "3", "--delay", "5"], "delay: expected a duration"),
        (["ring", "3", "--delay", "5ms..1ms"], "ends before it begins"),
        (["ring", "3", "--rate", "fast"], "rate: expected a rate"),
        (["ring", "3", "--kind", "vax"], "no kind 'vax'"),
    ],
)
def test_what_makes_no_sense_is_one_line(words: list[str], says: str, tmp_path: Path) -> None:
    done = command("generate", *words, folder=tmp_path)
    assert done.code == 2
    assert done.out == ""
    assert len(done.err.splitlines()) == 1
    assert says in done.err


def test_the_verb_writes_what_the_api_says(tmp_path: Path) -> None:
    done = command("generate", "fat-tree", "k=4", "--delay", "1ms", "-o", "x.yaml", folder=tmp_path)
    assert (done.code, done.out) == (0, "")
    assert (tmp_path / "x.yaml").read_text() == delaylab.generate(
        "fat-tree", {"k": 4}, delay="1ms"
    ).text
    planned = command("plan", "--json", "x.yaml", folder=tmp_path)
    assert len(json.loads(planned.out)["agents"]) > 36


def test_an_import_is_the_same_from_python(tmp_path: Path) -> None:
    source = Path(__file__).parent / "samples" / "small.brite"
    made = delaylab.import_map(source, rate=True)
    done = command("import", str(source), "--rate", folder=tmp_path)
    assert done.out == made.text
    assert done.err.splitlines() == list(made.remarks)
    assert made.lab.nodes["r0"].forwards
