"""Nodes that forward: links to each of many, routes, and the ways of probes over routers."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from delaylab.errors import BadInput
from delaylab.kinds import KINDS
from delaylab.plan.attachment import Attachment
from delaylab.plan.build import build
from delaylab.plan.kind import Rights
from delaylab.plan.model import Plan, Route
from delaylab.plan.routes import least_cost
from delaylab.plan.routes.least_cost import routes
from delaylab.plan.routes.reach import Stacks
from delaylab.plan.ways.path import NodePath, node_path
from delaylab.plan.ways.probe_way import PlannedHop, probe_way
from delaylab.resolve.lab import Lab
from delaylab.resolve.load import lab_from
from delaylab.spec.conditions.directions import conditions_of
from delaylab.spec.source import Document, parse
from delaylab_study.study_file.combine import combinations
from delaylab_study.study_file.load import study_from
from delaylab_study.study_file.loads import FramesLoad, LoadSpec
from delaylab_study.study_file.probe import ProbeSpec
from tests.ground.timelines import changes_of_links

FAN = """
lab: fan
nodes: {source: {}, sink: {}, router: {forwards: true, count: 3}}
links:
  - {between: [source, router], name: in, from: {router: {delay: 1ms}}}
  - {between: [router, sink], name: out}
timeline:
  - {at: 1s, link: in, node: router, set: {delay: 2ms}}
  - {at: 2s, link: in, node: source, set: {delay: 3ms}}
"""


def planned(text: str) -> tuple[Lab, Plan]:
    lab = lab_from(parse(text, "lab.yaml"))
    return lab, build(lab, KINDS, Rights(root=True))


def test_a_link_to_a_node_that_stands_for_many_is_one_to_each() -> None:
    lab, _ = planned(FAN)
    assert [(link.name, link.members) for link in lab.written.links] == [
        *((f"in-{n}", ["source", f"router-{n}"]) for n in (1, 2, 3)),
        *((f"out-{n}", [f"router-{n}", "sink"]) for n in (1, 2, 3)),
    ]
    assert [list(link.sent_from) for link in lab.written.links[:3]] == [
        [f"router-{n}"] for n in (1, 2, 3)
    ]
    changes = [(change.link, change.node) for change in changes_of_links(lab)]
    assert changes == [
        *((f"in-{n}", f"router-{n}") for n in (1, 2, 3)),
        *((f"in-{n}", "source") for n in (1, 2, 3)),
    ]


def test_each_router_leads_to_its_own_link_and_the_sink_answers_by_the_same() -> None:
    lab, made = planned(FAN)
    probe = ProbeSpec.model_validate({"from": "source", "to": "sink", "over": "out-2"})
    by_two = probe_way(made, lab, probe)
    assert [(hop.link, hop.start, hop.end) for hop in by_two.hops] == [
        ("in-2", "source", "router-2"),
        ("out-2", "router-2", "sink"),
    ]
    routers = [point for point in by_two.request if "@" in point]
    assert routers == ["router-2@in-2", "router-2@out-2"]
    assert [point for point in by_two.reply if "@" in point] == routers[::-1]
    assert {tap.agent for tap in by_two.taps if tap.point == routers[1]} == {"node.router-2"}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("forwards: true, ", ""), "no path from 'source' to 'sink': .* no nodes that forward"),
        (("lab: fan", "lab: fan\nroutes: none"), "is not known: .*`routes: none` sets no routes"),
        (("source: {}", "source: {count: 2}"), "'source' and 'router' both stand for many"),
        (("name: out}", "name: out}\n  - {between: [source, sink], name: in-2}"), "named 'in-2'"),
        (("{forwards", "{kind: shared, forwards"), "cannot forward: its stack is this machine's"),
    ],
)
def test_what_leads_nowhere_is_told(change: tuple[str, str], says: str) -> None:
    def lead(text: str) -> NodePath:
        lab, made = planned(text)
        return node_path(made, lab, "source", "sink")

    with pytest.raises(BadInput, match=says):
        lead(FAN.replace(*change))


def study_over(link: str, load: str) -> Document:
    frames = {"frames": 1, "on": "source", "to": "sink", "over": load}
    data = {
        "study": "s",
        "lab": parse(FAN, "lab.yaml").data,
        "factors": {"load": {"all": [frames]}},
        "probe": {"from": "source", "to": "sink", "over": link},
    }
    return parse(yaml.safe_dump(data), "study.yaml")


def test_loads_and_probes_name_links_that_are_there() -> None:
    (made,) = combinations(study_from(study_over("out-1", "out")), "quick")
    (load,) = made.loads
    assert isinstance(load, FramesLoad)
    assert load.over == ["out-1", "out-2", "out-3"]
    for names in (("out-4", "out"), ("out-1", "nowhere")):
        with pytest.raises(BadInput, match="no link"):
            list(combinations(study_from(study_over(*names)), "quick"))


COUNTED = """
lab: counted
hosts: {one: {}}
nodes: {a: {count: 2}, b: {count: 2, forwards: true}, c: {}}
links:
  - {between: [a, b], name: pair, from: {b-2: {delay: 2ms}, b: {delay: 1ms}}}
  - {between: [c, b-1], name: single, addresses: {c: 10.1.0.1/24, b-1: 10.1.0.2/24}}
  - {join: [b-1, b-2], name: core}
"""


def test_counted_nodes_are_joined_one_by_one_and_by_name() -> None:
    lab, made = planned(COUNTED)
    assert [(link.name, link.members) for link in lab.written.links] == [
        ("pair-1", ["a-1", "b-1"]),
        ("pair-2", ["a-2", "b-2"]),
        ("single", ["c", "b-1"]),
        ("core", ["b-1", "b-2"]),
    ]
    delays = [conditions_of(link, link.members[1]).delay_ns for link in lab.written.links[:2]]
    assert delays == [1_000_000, 2_000_000], "what is said of one node overrides the others'"
    assert node_path(made, lab, "c", "a-2").links == ("single", "core", "pair-2")
    data = {
        "study": "s",
        "lab": parse(COUNTED, "lab.yaml").data,
        "factors": {"load": {"cpu": [{"cpu": 1, "on": "b-2"}], "all": [{"cpu": 1, "on": "b"}]}},
        "probe": {"from": "c", "to": "a-2"},
    }
    both, one = combinations(study_from(parse(yaml.safe_dump(data), "study.yaml")), "quick")
    assert [load.on for load in one.loads] == ["b-2"]
    assert [load.on for load in both.loads] == ["b-1", "b-2"]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("a: {count: 2}", "a: {count: 3}"), "'a' and 'b' both stand for many"),
        (("[b-1, b-2]", "[b-1, b-3]"), "joins 'b-3', which is not a node"),
        (("[b-1, b-2]", "[b-1, b]"), "joins 'b-1' with itself"),
        (("c: {}", "c: {}, b-1: {}"), "makes a second node 'b-1'"),
    ],
)
def test_bad_links_of_counted_nodes_are_told(change: tuple[str, str], says: str) -> None:
    with pytest.raises(BadInput, match=says):
        planned(COUNTED.replace(*change))


def test_only_frames_go_over_a_link() -> None:
    with pytest.raises(ValueError, match="only a load of frames"):
        LoadSpec.model_validate({"network": "send", "on": "a", "to": "b", "over": "lan"})


NETWORKS = st.lists(
    st.sets(st.integers(0, 7), min_size=2, max_size=4).map(sorted), min_size=1, max_size=10
)


def attachments(links: list[list[int]]) -> list[Attachment]:
    """Return the attachments of all nodes, those of the first node first."""
    return [
        Attachment(
            node=f"n{node}",
            link=f"l{number}",
            host="here",
            agent=f"node.n{node}",
            device=f"eth{number}",
            mac="",
            addresses=(f"198.18.{number}.{node + 1}/24", f"fd00:{number}::{node + 1}/64"),
        )
        for node in range(8)
        for number, members in enumerate(links)
        if node in members
    ]


COSTS = st.lists(st.integers(1, 3), min_size=10, max_size=10)


@pytest.mark.parametrize("aggregated", [False, True])
@pytest.mark.parametrize("multipath", [False, True])
@settings(max_examples=100, deadline=None)
@given(
    links=NETWORKS,
    forwarding=st.sets(st.integers(0, 7)),
    costs=COSTS,
    flow=st.integers(0, 11),
)
def test_by_the_routes_every_packet_arrives_at_the_least_cost(
    aggregated: bool,
    multipath: bool,
    links: list[list[int]],
    forwarding: set[int],
    costs: list[int],
    flow: int,
) -> None:
    """From every stack to every link: at the cost that relaxation finds, or no route at all.

    The number of a flow decides which of several next hops it takes.
    """
    forwards = {f"node.n{node}" for node in forwarding}
    by_link = {f"l{number}": cost for number, cost in enumerate(costs)}
    stacks = Stacks(attachments(links), forwards, by_link)
    table: dict[str, list[To]] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(least_cost, "AGGREGATED_FROM", 0 if aggregated else 1000)
        for route in routes(stacks, machine=None, multipath=multipath):
            via = route.via[flow % len(route.via)]
            assert multipath or len(route.via) == 1
            goals = [(ipaddress.ip_network(to), via) for to in route.to]
            table.setdefault(route.agent, []).extend(goals)
    owner = {
        str(ipaddress.ip_interface(text).ip): stack
        for on in stacks.on.values()
        for stack, texts in on.items()
        for text in texts
    }
    for number, members in enumerate(links):
        least = distances(links, forwarding, members, costs)
        for version, target in ((4, f"198.18.{number}.200"), (6, f"fd00:{number}::200")):
            for node in range(8):
                cost = follow(table, owner, stacks, f"node.n{node}", target, version)
                assert cost == least.get(node, UNREACHED)
    # In a large lab one to an address of the pool that nobody has may go from router to router.
    for nowhere, version in (("198.19.255.1", 4), ("8.8.8.8", 4), ("2001:db8::1", 6))[aggregated:]:
        for node in range(8):
            cost = follow(table, owner, stacks, f"node.n{node}", nowhere, version)
            assert cost == UNREACHED, "a packet to an address outside circles"


UNREACHED = -1
To = tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, str]
"""A network, and the address of the next hop to it."""


def distances(
    links: list[list[int]], forwarding: set[int], goal: list[int], costs: list[int]
) -> dict[int, int]:
    """Least cost from each node to a link, over nodes that forward; by relaxation."""
    found = dict.fromkeys(goal, 0)
    for _ in range(len(links) * 8):
        for members, cost in zip(links, costs, strict=False):
            near = [found[n] for n in members if n in found and n in forwarding]
            for node in members:
                if near and min(near) + cost < found.get(node, 999):
                    found[node] = min(near) + cost
    return found


def follow(
    table: dict[str, list[To]],
    owner: dict[str, str],
    stacks: Stacks,
    stack: str,
    target: str,
    version: int,
) -> int:
    """Cost of a packet's way to an address; UNREACHED if a stack has no route to it."""
    goal, total = ipaddress.ip_address(target), 0
    for _ in range(12):
        here = stacks.links.get(stack, [])
        texts = (text for link in here for text in stacks.on[link][stack])
        own = (ipaddress.ip_interface(text) for text in texts)
        if any(goal in interface.network for interface in own):
            return total
        fitting = [each for each in table.get(stack, []) if goal in each[0]]
        if not fitting:
            return UNREACHED
        _, hop = max(fitting, key=lambda each: each[0].prefixlen)
        via = ipaddress.ip_address(hop)
        assert via.version == version
        total += next(
            stacks.cost([link])
            for link in here
            for text in stacks.on[link][stack]
            if via in ipaddress.ip_interface(text).network
        )
        stack = owner[hop]
    raise AssertionError(f"a packet to {target} goes round in circles")


COSTLY = """
lab: costly
hosts: {one: {}}
nodes: {a: {}, near: {forwards: true}, far: {forwards: true}, b: {}}
links:
  - {between: [a, near], name: in}
  - {between: [near, b], name: direct, cost: 5}
  - {between: [near, far], name: up}
  - {between: [far, b], name: down}
"""


def test_routes_and_probes_take_the_path_of_the_least_cost() -> None:
    lab, made = planned(COSTLY)
    assert node_path(made, lab, "a", "b").links == ("in", "up", "down")
    lab, made = planned(COSTLY.replace("cost: 5", "cost: 1"))
    assert node_path(made, lab, "a", "b").links == ("in", "direct")


def test_no_stack_has_a_default_route() -> None:
    _, made = planned(COSTLY)
    routed = {(r.agent, to) for r in made.operations if isinstance(r, Route) for to in r.to}
    assert ("node.a", "198.18.0.0/15") in routed, "one route for all addresses of the lab"
    assert not {to for _, to in routed if to.endswith("/0")}
    wide = {agent for agent, to in routed if to == "198.18.0.0/15"}
    assert wide.isdisjoint({"node.near", "node.far"}), "two routers would pass a packet to and fro"


DIAMOND = """
lab: diamond
multipath: true
nodes:
  a: {}
  b: {}
  r: {forwards: true}
  p: {forwards: true}
  q: {forwards: true}
  s: {forwards: true}
links:
  - {between: [a, r], name: in}
  - {between: [r, p], name: rp}
  - {between: [p, s], name: ps}
  - {between: [r, q], name: rq}
  - {between: [q, s], name: qs}
  - {between: [s, b], name: out}
"""


def links(hops: Iterable[PlannedHop]) -> tuple[str, ...]:
    return tuple(hop.link for hop in hops)


def test_a_probe_over_equal_paths_has_a_way_for_each_and_taps_on_all() -> None:
    lab, made = planned(DIAMOND)
    way = probe_way(made, lab, ProbeSpec.model_validate({"from": "a", "to": "b"}))
    by_p, by_q = ("in", "rp", "ps", "out"), ("in", "rq", "qs", "out")
    legs = {
        (links(each.hops), links(each.back)[::-1] if each.back else links(each.hops))
        for each in way.every
    }
    assert legs == {(there, back) for there in (by_p, by_q) for back in (by_p, by_q)}
    tapped = {tap.point for tap in way.every_tap}
    assert {"p@rp", "p@ps", "q@rq", "q@qs", "r@rp", "r@rq"} <= tapped
    assert all({p for p in each.request if "@" in p} <= tapped for each in way.every)
    lab, made = planned(DIAMOND.replace("multipath: true", ""))
    alone = probe_way(made, lab, ProbeSpec.model_validate({"from": "a", "to": "b"}))
    assert not alone.others
    assert links(alone.hops) == by_p


def test_a_probe_goes_to_a_routers_loopback_only_where_routes_lead_there() -> None:
    by_name = ProbeSpec.model_validate({"from": "a", "to": "r"})
    by_link = ProbeSpec.model_validate({"from": "a", "to": "r", "over": "in"})
    lab, made = planned(DIAMOND)
    loopback, on_link = made.nodes["r"].loopback(4), made.attachment("r", "in").address
    assert probe_way(made, lab, by_name).target == loopback
    assert probe_way(made, lab, by_link).target == on_link
    lab, made = planned(DIAMOND.replace("multipath: true", "routes: none"))
    assert probe_way(made, lab, by_name).target == on_link
    assert (
        probe_way(made, lab, ProbeSpec.model_validate({"from": "r", "to": "a"})).source == on_link
    )
