"""A network that is written in a format is read as the same network, whatever it is like."""

from __future__ import annotations

import io
import random
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from delaylab.spec.source import parse
from delaylab.topology.builder import Builder
from delaylab.topology.edges import Edge
from delaylab.topology.names import link_names, node_names
from delaylab.topology.options import Options
from delaylab.topology.text import text_of
from delaylab.verbs.maps import checked
from tests.topology.maps import Links, links, of_text, spec

MILLISECOND = 1_000_000


@dataclass(frozen=True)
class Link:
    a: int
    b: int
    delay_us: int
    back_us: int
    cost: int
    mbit: int


def networks(*, parallel: bool = True) -> st.SearchStrategy[list[Link]]:
    """Return networks in which every node has a link, and node 1 is joined to all others."""
    delays, costs = st.integers(1, 500_000), st.integers(2, 60_000)

    def link(a: int, b: int) -> st.SearchStrategy[Link]:
        return st.builds(
            Link, st.just(a), st.just(b), delays, delays, costs, st.integers(1, 400_000)
        )

    def whole(size: int) -> st.SearchStrategy[list[Link]]:
        pairs = st.tuples(st.integers(1, size - 1), st.integers(0, size)).map(
            lambda x: (x[0], x[0] + 1 + x[1] % (size - x[0]))
        )
        more = st.lists(pairs, max_size=10)
        return more.flatmap(
            lambda found: st.tuples(
                *(link(1, other) for other in range(2, size + 1)),
                *(
                    link(*pair)
                    for pair in (found if parallel else dict.fromkeys(found))
                    if parallel or pair[0] != 1
                ),
            ).map(list)
        )

    return st.integers(2, 9).flatmap(whole)


def name(node: int) -> str:
    return f"r{node}"


def delay(us: int) -> str:
    return f"{us / 1000:.3f}"


def rocketfuel(network: list[Link]) -> tuple[str, str]:
    ends = [(x.a, x.b, x.cost, x.delay_us) for x in network]
    ends += [(x.b, x.a, x.cost, x.back_us) for x in network]
    weights = "".join(f"{name(a)} {name(b)} {cost}\n" for a, b, cost, _ in ends)
    return weights, "".join(f"{name(a)} {name(b)} {delay(us)}\n" for a, b, _, us in ends)


def wanted(network: list[Link], *, back: bool, cost: bool, mbit: bool) -> Links:
    """Return what `links` finds of a network, of those figures that a format has."""
    from delaylab.units import Duration, Rate  # noqa: PLC0415

    rows = []
    for link in network:
        there = str(Duration(link.delay_us * 1000))
        here = str(Duration(link.back_us * 1000)) if back else there
        ends = sorted([(name(link.a), there), (name(link.b), here)])
        rate = str(Rate(link.mbit * 10**6)) if mbit else "None"
        rows.append((*(e[0] for e in ends), *(e[1] for e in ends), rate, link.cost * cost))
    return sorted(rows)  # type: ignore[arg-type]


def without_cost(found: Links) -> Links:
    return [(*row[:5], 0) for row in found]


@given(network=networks())
@settings(max_examples=60, deadline=None)
def test_rocketfuel(network: list[Link]) -> None:
    weights, latencies = rocketfuel(network)
    found = of_text(weights, latencies=latencies)
    assert links(found) == wanted(network, back=True, cost=True, mbit=False)
    assert parse(text_of(found), "made.yaml").data == found.data


@given(network=networks(), kind=st.sampled_from([nx.MultiGraph, nx.MultiDiGraph]))
@settings(max_examples=60, deadline=None)
def test_graphml_that_networkx_writes(
    network: list[Link], kind: Callable[[], nx.MultiGraph]
) -> None:
    graph = kind()
    both = graph.is_directed()
    for link in network:
        given_ = {"weight": link.cost, "capacity": link.mbit}
        graph.add_edge(name(link.a), name(link.b), delay=link.delay_us / 1000, **given_)
        if both:
            graph.add_edge(name(link.b), name(link.a), delay=link.back_us / 1000, **given_)
    file = io.BytesIO()
    nx.write_graphml(graph, file)
    found = of_text(file.getvalue().decode())
    assert links(found) == wanted(network, back=both, cost=True, mbit=True)


@given(network=networks(), kind=st.sampled_from([nx.MultiGraph, nx.MultiDiGraph]))
@settings(max_examples=60, deadline=None)
def test_gml_that_networkx_writes(network: list[Link], kind: Callable[[], nx.MultiGraph]) -> None:
    graph = kind()
    both = graph.is_directed()
    for link in network:
        given_ = {"weight": link.cost, "capacity": link.mbit}
        graph.add_edge(name(link.a), name(link.b), delay=link.delay_us / 1000, **given_)
        if both:
            graph.add_edge(name(link.b), name(link.a), delay=link.back_us / 1000, **given_)
    found = of_text("\n".join(nx.generate_gml(graph)))
    assert links(found) == wanted(network, back=both, cost=True, mbit=True)


@given(network=networks())
@settings(max_examples=30, deadline=None)
def test_brite(network: list[Link]) -> None:
    nodes = sorted({end for link in network for end in (link.a, link.b)})
    text = "Topology: ( )\nModel (1 - RTWaxman): 1\n\nNodes: ( )\n".replace("( )", "( 0 )")
    text += "".join(f"{node}\t{node}\t{node}\t1\t1\t-1\tRT_NODE\n" for node in nodes)
    text += "\n\nEdges: ( 0 )\n"
    text += "".join(
        f"{i}\t{x.a}\t{x.b}\t1.0\t{delay(x.delay_us)}\t{x.mbit}.0\t-1\t-1\tE_RT\tU\n"
        for i, x in enumerate(network)
    )
    found = without_cost(links(of_text(text)))
    assert found == wanted(network, back=False, cost=False, mbit=True)


@given(network=networks(parallel=False))
@settings(max_examples=30, deadline=None)
def test_a_matrix(network: list[Link]) -> None:
    nodes = sorted({end for link in network for end in (link.a, link.b)})
    cells = {(x.a, x.b): x.delay_us for x in network} | {(x.b, x.a): x.back_us for x in network}
    text = ",".join(["", *map(name, nodes)]) + "\n"
    for a in nodes:
        row = [delay(cells[a, b]) if (a, b) in cells else "" for b in nodes]
        text += ",".join([name(a), *row]) + "\n"
    found = of_text(text, Options(one_way=True)) if len(nodes) > 2 else None
    if found is not None:
        expected = wanted(network, back=True, cost=False, mbit=False)
        assert without_cost(links(found)) == expected


@given(network=networks(), seed=st.integers(0, 1000))
@settings(max_examples=40, deadline=None)
def test_the_order_of_lines_changes_no_name(network: list[Link], seed: int) -> None:
    """Parallel links may swap their numbers, since nothing else distinguishes them."""
    text = rocketfuel(network)[0]
    lines = text.splitlines()
    random.Random(seed).shuffle(lines)
    one, other = (spec(of_text("\n".join(each))) for each in (text.splitlines(), lines))
    assert set(one.nodes) == set(other.nodes)
    assert {link.name for link in one.written.links} == {link.name for link in other.written.links}


@given(network=networks(), more=networks())
@settings(max_examples=40, deadline=None)
def test_lines_at_the_end_change_no_name(network: list[Link], more: list[Link]) -> None:
    others = [Link(x.a + 20, x.b + 20, x.delay_us, x.back_us, x.cost, x.mbit) for x in more]
    before = spec(of_text(rocketfuel(network)[0]))
    after = spec(of_text(rocketfuel([*network, *others])[0]))
    assert list(after.nodes)[: len(before.nodes)] == list(before.nodes)
    names = [link.name for link in before.written.links]
    assert [link.name for link in after.written.links][: len(names)] == names


LABELS = st.text(st.characters(codec="utf-8"), max_size=40) | st.sampled_from(
    ["None", "null", "true", "localhost", "São Paulo", "東京", "St. Gallen", "st-gallen", "--", "9"]
)


@given(wanted=st.dictionaries(st.text(max_size=20), LABELS, min_size=1, max_size=30))
@settings(max_examples=200, deadline=None)
def test_every_label_gets_a_name_of_its_own(wanted: dict[str, str]) -> None:
    build = Builder("x", "test", "x")
    keys = list(wanted)
    for key, label in wanted.items():
        build.node(key, wanted=label, label=label)
    for one, other in pairwise(keys):
        build.edge(Edge(a=one, b=other))
    found = checked(build.finish(), None, Options())
    assert len(spec(found).nodes) == len(wanted)
    assert list(node_names(wanted).values()) == [node.name for node in found.map.nodes]


@given(pairs=st.lists(st.tuples(st.integers(0, 40), st.integers(41, 99)), max_size=80))
def test_every_link_gets_a_name_of_its_own(pairs: list[tuple[int, int]]) -> None:
    ends = [(f"frankfurt-am-main{a}", f"frankfurt-oder{b}") for a, b in pairs]
    names = link_names(ends)
    assert len(set(names)) == len(names)
    assert all(len(each) <= 15 for each in names)


@pytest.mark.parametrize(
    ("ends", "name"),
    [
        (("a", "b"), "a-b"),
        (("r10", "r9"), "r9-r10"),
        (("london209", "new-york239"), "lon209-newy239"),
        (("london", "amsterdam"), "amsterd-london"),
    ],
)
def test_names_of_links_are_readable(ends: tuple[str, str], name: str) -> None:
    (found,) = link_names([ends])
    assert len(found) <= 15
    assert found[:2] == name[:2]
