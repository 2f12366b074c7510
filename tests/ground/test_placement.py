"""Placement: every constraint holds, answers repeat, and what does not fit is said with figures."""

from __future__ import annotations

import itertools
import json
import time
from collections import Counter
from pathlib import Path
from typing import get_args

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from delaylab.cli import whole
from delaylab.placement import (
    METHODS,
    Host,
    Infeasible,
    Interface,
    Method,
    NumberedLink,
    Placement,
    Problem,
    place,
)
from delaylab.placement.groups import grouped
from delaylab.placement.partition import partition
from delaylab.resolve.hosts import placement_of
from delaylab.resolve.lab import Lab
from delaylab.resolve.load import lab_from
from delaylab.spec.source import parse

GBIT = 10**9


def problem(graph: nx.Graph, hosts: int, most: int | None = None, **more: object) -> Problem:
    """Return the problem of a graph whose edges need 10, 100 or 1000 Mbit/s, in turn."""
    needs = itertools.cycle((10, 100, 1000))
    links = tuple(
        NumberedLink(f"l{number}", edge, next(needs) * 10**6)
        for number, edge in enumerate(graph.edges)
    )
    nodes = tuple(f"n{node}" for node in graph)
    given: dict[str, object] = {"pinned": (None,) * len(nodes), **more}
    made = tuple(Host(f"h{number}", most) for number in range(hosts))
    return Problem(nodes=nodes, links=links, hosts=made, **given)  # type: ignore[arg-type]


def check(found: Placement) -> None:
    """Check what holds of every placement, without what the placement says of itself."""
    asked = found.problem
    on = Counter(found.host_of)
    for number, each in enumerate(asked.hosts):
        assert each.most_nodes is None or on[number] <= each.most_nodes
    for host, bound in zip(found.host_of, asked.pinned, strict=True):
        assert bound in (None, host)
    for one, two in asked.together:
        assert found.host_of[one] == found.host_of[two]
    ends = {(end.link, end.host): end.interface for end in found.ends}
    used: Counter[tuple[str, str]] = Counter()
    for link in asked.links:
        hosts = {found.host_of[member] for member in link.members}
        named = [asked.hosts[host] for host in hosts if asked.hosts[host].interfaces]
        if len(hosts) == 1 or len(named) < len(hosts):
            continue
        domains = set()
        for this in named:
            interface = ends.pop((link.name, this.name))
            used[this.name, interface] += link.bandwidth
            domains |= {each.domain for each in this.interfaces if each.name == interface}
        assert len(domains) == 1, "both ends are in one broadcast domain"
    assert not ends
    for some in asked.hosts:
        assert all(used[some.name, each.name] <= each.rate for each in some.interfaces)
    assert found.bound <= found.largest + 1e-9
    assert 0 <= found.cut <= 1


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Draw small labs on a few hosts, with room for all, some nodes bound and some together."""
    nodes = draw(st.integers(1, 14))
    hosts = draw(st.integers(1, 4))
    graph = nx.gnm_random_graph(nodes, draw(st.integers(0, 20)), seed=draw(st.integers(0, 99)))
    most = draw(st.sampled_from([None, -(-nodes // hosts) + 1, nodes]))
    pinned: list[int | None] = [None] * nodes
    if draw(st.booleans()):
        pinned[draw(st.integers(0, nodes - 1))] = draw(st.integers(0, hosts - 1))
    together: tuple[tuple[int, int], ...] = ()
    if graph.edges and draw(st.booleans()):
        together = (next(iter(graph.edges)),)
    return problem(graph, hosts, most, pinned=tuple(pinned), together=together)


@settings(max_examples=60, deadline=None)
@given(asked=problems(), method=st.sampled_from(get_args(Method)[:2]))
def test_every_constraint_holds(asked: Problem, method: Method) -> None:
    try:
        found = place(asked, method)
    except Infeasible:
        # A pair that must share a host may fit on none beside a node that is bound to it.
        found = None
    if found is None:
        assert asked.together
        return
    check(found)
    place.cache_clear()
    assert place(asked, method).host_of == found.host_of


@pytest.mark.parametrize("hosts", [2, 3])
def test_the_exact_answer_is_that_of_trying_all(hosts: int) -> None:
    """Seven nodes have few placements: the least traffic among those within the slack is known."""
    asked = problem(nx.gnm_random_graph(7, 12, seed=4), hosts)
    found = place(asked, "exact")
    check(found)
    every = [
        Placement(asked, "given", each, (), 1.0)
        for each in itertools.product(range(hosts), repeat=7)
    ]
    least = min(each.largest for each in every)
    assert found.bound == pytest.approx(least)
    within = [each for each in every if each.largest <= least * 1.1 + 1e-6]
    assert found.crossing == min(each.crossing for each in within)
    assert found.gap == 0


def test_worst_fit_is_the_papers() -> None:
    """By falling bandwidth, to the host with the fewest nodes, of several to the least loaded."""
    star = Problem(
        nodes=("hub", "a", "b", "c"),
        links=tuple(NumberedLink(f"l{n}", (0, n), n * GBIT) for n in (1, 2, 3)),
        hosts=(Host("one"), Host("two")),
        pinned=(None,) * 4,
    )
    # hub (6), c (3), b (2), a (1): one, two; then the less loaded `two`, then `one`.
    assert place(star, "worst-fit").host_of == (0, 0, 1, 1)


def test_metis_beats_its_own_partition_and_keeps_what_hosts_take() -> None:
    """A thousand nodes on a hundred hosts of exactly ten, as V-eM's."""
    asked = problem(nx.gnm_random_graph(1000, 3000, seed=1), 100, 10)
    groups = grouped(asked)
    found = place(asked, "metis")
    check(found)
    assert set(found.nodes) == {10}
    assert found.largest <= 1.10 * found.bound
    raw = Placement(asked, "given", tuple(partition(groups, 1)), (), 1.0)
    assert found.cut < raw.cut
    assert found.cut < place(asked, "worst-fit").cut / 2


def test_links_stay_in_a_broadcast_domain() -> None:
    """Hosts a and b share one, c and d another: two pairs of nodes are never placed across."""
    lan = {"a": "x", "b": "x", "c": "y", "d": "y"}
    hosts = tuple(Host(name, 2, (Interface("eth1", GBIT, lan[name]),)) for name in lan)
    links = (NumberedLink("l1", (0, 1), GBIT // 10), NumberedLink("l2", (2, 3), GBIT // 10))
    asked = Problem(("n0", "n1", "n2", "n3"), links, hosts, (None,) * 4)
    found = place(asked)
    assert found.method == "worst-fit"
    check(found)
    check(place(asked, "exact"))
    with pytest.raises(Infeasible, match=r"'a' and 'c' share no broadcast domain"):
        place(asked, "metis")


LAB = """\
lab: placed
hosts: {h1: {nodes: 4, interfaces: {eth1: 9Gbit}}, h2: {nodes: 4, interfaces: {eth1: 9Gbit}}}
place: auto
nodes: {r: {count: 8, forwards: true}}
links:
  - {between: [r-1, r-2], bandwidth: 300Mbit, delay: 5ms}
  - {between: [r-2, r-3], bandwidth: 300Mbit, delay: 5ms}
  - {between: [r-3, r-4], bandwidth: 300Mbit, delay: 5ms}
  - {between: [r-4, r-5], rate: 10Mbit, delay: 1ms}
  - {between: [r-5, r-6], bandwidth: 300Mbit, delay: 5ms}
  - {between: [r-6, r-7], bandwidth: 300Mbit, delay: 5ms}
  - {between: [r-7, r-8], bandwidth: 300Mbit, delay: 5ms}
"""


def lab(text: str = LAB) -> Lab:
    return lab_from(parse(text, "lab.yaml"))


def test_a_lab_file_asks_for_a_placement() -> None:
    made = lab()
    hosts = [node.host for node in made.nodes.values()]
    assert hosts in (["h1"] * 4 + ["h2"] * 4, ["h2"] * 4 + ["h1"] * 4)
    assert placement_of(made).crossing == 10_000_000
    bound = lab(LAB.replace("r: {count: 8, forwards: true}", NODES_BY_HAND))
    assert [node.host for node in bound.nodes.values()][:5] == ["h2"] * 4 + ["h1"]


def test_short_links_stay_on_a_host() -> None:
    made = lab(LAB.replace("place: auto", "place: {together: 2ms}").replace("nodes: 4", "nodes: 5"))
    host = {name: node.host for name, node in made.nodes.items()}
    assert host["r-4"] == host["r-5"]
    assert len(set(host.values())) == 2


NODES_BY_HAND = ", ".join(
    f"r-{n}: {{forwards: true{', host: h2' if n == 1 else ''}}}" for n in range(1, 9)
)


@pytest.mark.parametrize(
    ("was", "becomes", "said"),
    [
        ("nodes: 4", "nodes: 3", "lab.yaml:3: 8 nodes are 2 more than the 2 hosts take together"),
        ("place: auto", "place: {together: 6ms}", "8 nodes (r-1, r-2, r-3, …) must share a host"),
        ("auto", "best", "lab.yaml:3: place.by: expected 'auto', 'worst-fit'"),
        (
            "place: auto\n",
            "",
            "node 'r' has no host (say `host:`: h1, h2; or `place: auto` for all",
        ),
        ("eth1: 9Gbit", "eth1: 0bit", "an interface of 0bit carries no link"),
        ("eth1: 9Gbit", "eth1: 5Mbit", "link 'r-4-r-5' needs 10Mbit of an interface of host 'h"),
        ("by: auto", "by: auto, slack: 200%", "200%"),
    ],
)
def test_what_cannot_be_placed_is_one_line(was: str, becomes: str, said: str) -> None:
    text = LAB.replace("place: auto", "place: {by: auto}") if was == "by: auto" else LAB
    assert was in text
    with pytest.raises(Exception, match=r".") as caught:
        lab(text.replace(was, becomes))
    assert said in str(caught.value)


def test_hosts_are_named_for_a_placement() -> None:
    with pytest.raises(Exception, match="chooses among hosts, and the file has none"):
        lab("lab: a\nplace: auto\nnodes: {a: {}}\n")


def test_place_shows_hosts_and_compares_methods(tmp_path: Path) -> None:
    file, written = tmp_path / "lab.yaml", tmp_path / "with-hosts.yaml"
    file.write_text(LAB)
    ran = CliRunner().invoke(whole(), ["place", str(file), "--json"])
    said = json.loads(ran.stdout)
    assert Counter(said["nodes"].values()) == {"h1": 4, "h2": 4}
    assert said["hosts"]["h1"]["load_bps"] == 1_810_000_000
    assert {each["interface"] for each in said["interfaces"]} == {"eth1"}
    ran = CliRunner().invoke(whole(), ["place", str(file), "--compare"])
    assert [line.split()[0] for line in ran.stdout.splitlines()] == ["METHOD", *METHODS]
    bare = LAB.replace("place: auto\n", "").replace(LAB.splitlines()[1] + "\n", "")
    file.write_text(bare)
    options = ["--hosts", "4", "--nodes", "2", "--interface", "1Gbit", "-o", str(written)]
    ran = CliRunner().invoke(whole(), ["place", str(file), *options])
    assert "8 nodes and 7 links on 4 hosts" in ran.stdout
    assert set(Counter(node.host for node in lab(written.read_text()).nodes.values())) == {
        "h1",
        "h2",
        "h3",
        "h4",
    }


def test_time_grows_with_the_lab_as_a_line_does() -> None:
    """Ten times the nodes and hosts take some ten times as long, not a hundred times."""

    def took_s(times: int) -> float:
        graph = nx.gnm_random_graph(400 * times, 1200 * times, seed=times)
        asked = problem(graph, 40 * times, 12)
        began_s = time.process_time()
        place.__wrapped__(asked, "metis")
        return time.process_time() - began_s

    small = min(took_s(1) for _ in range(2))
    assert took_s(10) < 40 * small
