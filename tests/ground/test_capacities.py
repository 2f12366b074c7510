"""The interfaces of hosts in plans: which links share one, and what is refused. No packets."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from delaylab.errors import BadInput
from delaylab.plan.attachment import Attachment
from delaylab.plan.model import Bridge, Capacity, Plan, Veth
from delaylab.plan.parts import parts
from delaylab.units import Rate
from tests.ground.test_plan import planned

HOSTS = ("h1", "h2", "h3")


def plan_of(text: str) -> Plan:
    return planned(text)[1]


@st.composite
def labs(draw: st.DrawFn) -> dict[str, object]:
    """Draw labs whose hosts have up to three interfaces; of those with `across`, three each."""
    hosts: dict[str, dict[str, object]] = {}
    for host in HOSTS:
        across = draw(st.booleans())
        names = [f"eth{n}" for n in range(3 if across else draw(st.integers(0, 3)))]
        rates = st.sampled_from(["10Mbit", "1Gbit"])
        hosts[host] = {"interfaces": {name: draw(rates) for name in names}}
        hosts[host] |= {"across": "always"} if across else {}
    nodes = {f"n{n}": {"host": draw(st.sampled_from(HOSTS))} for n in range(6)}
    links: list[dict[str, object]] = []
    for number in range(draw(st.integers(1, 6))):
        members = draw(
            st.lists(st.sampled_from(sorted(nodes)), min_size=2, max_size=3, unique=True)
        )
        how = "between" if len(members) == 2 else "join"
        link: dict[str, object] = {how: members, "name": f"l{number}"}
        link |= draw(st.sampled_from([{}, {"bandwidth": "5Mbit"}, {"delay": "1ms"}]))
        links.append(link)
    return {"lab": "drawn", "hosts": hosts, "nodes": nodes, "links": links}


@settings(max_examples=60, deadline=None)
@given(labs())
def test_each_uplink_leaves_by_one_interface_of_its_host(drawn: dict[str, object]) -> None:
    plan = plan_of(yaml.safe_dump(drawn))
    hosts: dict[str, dict[str, dict[str, str]]] = drawn["hosts"]  # type: ignore[assignment]
    shared = Counter[tuple[str, str]]()
    for each in plan.operations:
        if isinstance(each, Capacity):
            shared.update((each.agent, name) for name in each.of)
            host, interface = (
                each.name.split("_") if each.agent == "wire" else (each.agent[5:], each.name)
            )
            rate = hosts[host]["interfaces"][interface]
            assert each.rate_bps == Rate.parse(rate).bps
    laid = {
        (end.agent, end.name)
        for each in plan.operations
        if isinstance(each, Veth)
        for end in each.ends
    }
    assert set(shared) <= laid
    assert set(shared.values()) <= {1}
    ends = {step for each in every(plan) for step in outward(each)}
    named = {(agent, name) for agent, name, host in ends if hosts[host]["interfaces"]}
    assert set(shared) == named, "every uplink of a host with interfaces, and its end in the wire"


@settings(max_examples=60, deadline=None)
@given(labs())
def test_with_across_no_two_nodes_of_a_host_meet_there(drawn: dict[str, object]) -> None:
    plan = plan_of(yaml.safe_dump(drawn))
    by = {
        (each.agent, name): each.name
        for each in plan.operations
        if isinstance(each, Capacity)
        for name in each.of
    }
    hosts: dict[str, dict[str, object]] = drawn["hosts"]  # type: ignore[assignment]
    ways: dict[tuple[str, str], list[str]] = {}
    for each in every(plan):
        if hosts[each.host].get("across"):
            uplink = each.step("uplink")
            assert uplink is not None
            ways.setdefault((each.host, each.link), []).append(by[uplink.agent, uplink.interface])
    for used in ways.values():
        assert len(set(used)) == len(used), "each node has an interface of its own"
    for bridge in (each for each in plan.operations if isinstance(each, Bridge)):
        if bridge.agent != "wire" and hosts[bridge.agent.removeprefix("host.")].get("across"):
            assert len(bridge.ports) == 2, "a node and an uplink"


@settings(max_examples=60, deadline=None)
@given(labs())
def test_interfaces_are_the_same_on_whatever_machine_a_host_is(drawn: dict[str, Any]) -> None:
    drawn["mtu"] = 1500
    here = plan_of(yaml.safe_dump(drawn))
    for host in ("h1", "h2"):
        drawn["hosts"][host] |= {"machine": "m"}
    apart = plan_of(yaml.safe_dump({**drawn, "machines": {"m": {"ssh": "m"}}}))
    assert [same(each) for each in of(here)] == [same(each) for each in of(apart)]
    for machine, part in parts(apart, {"m": "192.0.2.1", "local": "192.0.2.2"}).items():
        on = {"local": {"host.h3", "wire"}, "m": {"host.h1", "host.h2", "wire.m"}}[machine]
        assert {each.agent for each in of(part)} <= on


def of(plan: Plan) -> list[Capacity]:
    return [each for each in plan.operations if isinstance(each, Capacity)]


def same(each: Capacity) -> tuple[object, ...]:
    """Return what does not depend on the machine, which has a wire of its own."""
    return each.agent.partition(".m")[0], each.name, each.of, each.rate_bps, each.limit_bytes


def every(plan: Plan) -> list[Attachment]:
    return [each for node in plan.nodes.values() for each in node.attachments]


def outward(of: Attachment) -> list[tuple[str, str, str]]:
    steps = (of.step("uplink"), of.step("wire"))
    return [(step.agent, step.interface, of.host) for step in steps if step]


TWO = """\
lab: two
hosts: {{h1: {{{h1}}}, h2: {{{h2}}}}}
nodes: {{a: {{host: h1}}, b: {{host: h1}}, c: {{host: h2}}, d: {{host: h2}}}}
links:
  - {{between: [a, c], name: one, {one}}}
  - {{between: [b, d], name: two, bandwidth: 2Mbit}}
"""
ETH = "interfaces: {eth1: 10Mbit, eth2: 10Mbit}"


def two(one: str = "bandwidth: 1Mbit", h1: str = ETH, h2: str = "") -> str:
    return TWO.format(h1=h1, h2=h2, one=one)


def leaves(text: str) -> dict[str, str]:
    """Return the interface of each uplink of h1."""
    found = (each for each in plan_of(text).operations if isinstance(each, Capacity))
    return {name: each.name for each in found if each.agent == "host.h1" for name in each.of}


def test_links_are_divided_by_bandwidth_unless_they_name_an_interface() -> None:
    assert leaves(two()) == {"uplink.two": "eth1", "uplink.one": "eth2"}
    by_name = two("bandwidth: 1Mbit, interfaces: {h1: eth1}")
    assert leaves(by_name) == {"uplink.two": "eth1", "uplink.one": "eth1"}
    assert leaves(two("rate: 1Mbit, interfaces: {h1: eth2}", h2=ETH))["uplink.one"] == "eth2"


def test_a_placement_counts_what_the_plan_then_does() -> None:
    placed = two().replace("host: h1", "").replace("host: h2", "") + "place: exact\n"
    assert set(leaves(placed).values()) <= {"eth1", "eth2"}


def test_a_queue_is_as_long_as_its_interface_says() -> None:
    long = ETH.replace("eth1: 10Mbit", "eth1: {rate: 10Mbit, queue: 7}")
    (eth1,) = (
        each
        for each in plan_of(two("mtu: 9000, interfaces: {h1: eth1}", h1=long)).operations
        if isinstance(each, Capacity) and each.name == "h1_eth1"
    )
    assert (eth1.mtu, eth1.limit_bytes, eth1.agent) == (9000, 7 * 9014, "wire")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (two("interfaces: {h3: eth1}"), "no host 'h3'"),
        (two("interfaces: {h1: eth3}"), "no interface 'eth3'"),
        (two("interfaces: {h2: eth1}"), "its interfaces: none"),
        (two("interfaces: {h1: eth1}", h1=f"{ETH}, across: always"), "an interface of its own"),
        (two(h1="interfaces: {eth1: 1Gbit}, across: always"), "has 1"),
        (two(h1="across: always"), "has 0"),
        (two(h1=f"{ETH}, uplink: {{rate: 1Gbit}}"), "has `interfaces`, which links share, and"),
        (two(h1="interfaces: {br-one: 1Gbit}"), "bridges of links are named so"),
        (two(h1="interfaces: {eth1: {rate: 1Gbit, queue: 0}}"), "queue"),
        (
            two(
                "interfaces: {h1: eth1}",
                h1="interfaces: {eth1: {rate: 1Gbit, domain: x}, eth2: {rate: 1Gbit, domain: y}}",
                h2="interfaces: {eth1: {rate: 1Gbit, domain: y}}",
            ),
            "name interfaces of one broadcast domain",
        ),
        (
            "lab: many\nhosts: {h: {interfaces: {eth1: 1Gbit, eth2: 1Gbit}, across: always}}\n"
            "nodes: {a: {}, b: {}, c: {}}\nlinks: [{join: [a, b, c]}]\n",
            "joins 3 nodes of host 'h'",
        ),
        (
            "lab: m\nmachines: {m: {ssh: m, interfaces: {eth1: 1Gbit}}}\ndata_plane: ethernet\n"
            "hosts: {h: {machine: m}}\nnodes: {a: {}, b: {}}\nlinks: [{between: [a, b]}]\n",
            "the rates are those of its cards",
        ),
        (
            "lab: s\nhosts: {h: {interfaces: {eth1: 1Gbit}}}\nnodes: {a: {}, b: {}}\n"
            "links: [{between: [a, b], interfaces: {h: eth1}}]\n",
            "does not leave host 'h'",
        ),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(text: str, why: str) -> None:
    with pytest.raises(BadInput) as refused:
        plan_of(text)
    assert why in f"{refused.value}; {refused.value.fix}"
