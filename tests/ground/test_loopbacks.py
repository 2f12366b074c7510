"""Addresses that a file gives routers' loopbacks."""

from __future__ import annotations

from ipaddress import ip_interface

import pytest

from delaylab.errors import BadInput
from delaylab.forwarding.expected import expected_tables
from delaylab.forwarding.tables import NextHop
from delaylab.plan.foreseen import why_unforeseen
from delaylab.plan.routed_topology import topology
from tests.ground.test_routing import config, planned

LAB = """
lab: lo
ip: [4, 6]
nodes:
  a: {forwards: true, loopback: 10.0.0.1}
  b: {forwards: true, loopback: ["2001:db8::2", 10.0.0.2]}
  c: {forwards: true}
  h: {}
links:
  - {between: [a, b], name: x}
  - {between: [b, c], name: y}
  - {between: [h, a], name: z, addresses: {h: [10.1.0.1/24, "2001:db8:1::1/64"], a: [10.1.0.2/24, "2001:db8:1::2/64"]}}
"""  # noqa: E501


def test_an_address_of_an_interface_without_a_network_is_in_no_main_table() -> None:
    alone = '  - {join: [c], name: w, addresses: {c: [10.7.0.1/32, "2001:db8:7::1/128"]}}\n'
    lab, plan = planned(LAB.replace("ip: [4, 6]", "ip: [4, 6]\nrouting: ospf") + alone)
    tables = expected_tables(topology(lab, plan))
    assert "10.7.0.1/32" not in tables["c"]
    assert tables["c"]["2001:db8:7::1/128"] == {NextHop("w")}
    assert "10.7.0.1/32" in tables["a"]


def test_a_loopback_has_the_address_of_the_file_and_others_are_assigned() -> None:
    lab, plan = planned(LAB)
    assert lab.loopbacks["b"] == ("10.0.0.2/32", "2001:db8::2/128")
    assert lab.loopbacks["a"][0] == "10.0.0.1/32"
    assert lab.loopbacks["a"][1].startswith("fd64:")
    without, _ = planned(LAB.replace(", loopback: 10.0.0.1", ""))
    assert without.loopbacks["a"][1] == lab.loopbacks["a"][1]
    assert without.loopbacks["c"] == lab.loopbacks["c"]
    assert plan.nodes["a"].loopback(4) == "10.0.0.1"
    routed = LAB.replace("ip: [4, 6]", "ip: [4, 6]\nrouting: ospf")
    assert "ospf router-id 10.0.0.1\n" in config(routed, "a")


@pytest.mark.parametrize(
    ("loopback", "told"),
    [
        ("x", "lab.yaml:5: 'x' is no address"),
        ("10.0.0.0/24", "no node can have the address 10.0.0.0/24: it is that of the network"),
        ("10.0.0.1/24", "the loopback of 'b', 10.0.0.2, is in the network of the loopback of 'a'"),
        ("10.0.0.1/8", "the loopback of 'a', 10.0.0.1/8, is in the network of link z"),
        ("224.0.0.1", "no node can have the address 224.0.0.1: it is a multicast address"),
        ("10.0.0.2", "'a' and 'b' have the same loopback address, 10.0.0.2"),
        ("[10.0.0.1, 10.0.0.3]", "'a' has two loopback addresses of IPv4"),
        ("10.1.0.9", "the loopback of 'a', 10.1.0.9, is in the network of link z"),
        ("10.0.0.1, count: 2", "'a' stands for many nodes (`count:`)"),
        ("10.0.0.1, kind: native", "kind native has this machine's loopback"),
    ],
)
def test_what_a_loopback_cannot_have_is_refused_with_its_line(loopback: str, told: str) -> None:
    text = LAB.replace("loopback: 10.0.0.1}", f"loopback: {loopback}}}")
    if "count" in loopback:
        text = text.partition("  - {between: [h, a]")[0]
    with pytest.raises(BadInput) as caught:
        planned(text)
    assert told in str(caught.value)


def test_only_routers_and_only_the_labs_versions_have_them() -> None:
    with pytest.raises(BadInput, match="'h' is no router, and has no loopback's address"):
        planned(LAB.replace("h: {}", "h: {loopback: 10.0.0.9}"))
    with pytest.raises(BadInput, match="the lab has no IPv6"):
        planned(LAB.replace("ip: [4, 6]", "ip: [4]").partition("  - {between: [h")[0])


@pytest.mark.parametrize(
    ("loopback", "routing", "is_known"),
    [
        ("10.9.0.1/24", "bgp: {}", True),
        ("10.9.0.1/24", "isis: {}", True),
        ("10.9.0.1/24", "ospf: {}", False),
        ("2001:db8:9::1/64", "bgp: {}", True),
        ("2001:db8:9::1/64", "ospf: {}", True),
        ("2001:db8:9::1/64", "by: bird, ospf: {}", False),
    ],
)
def test_a_loopback_may_have_a_network_which_some_daemons_announce(
    loopback: str, routing: str, is_known: bool
) -> None:
    text = LAB.replace("loopback: 10.0.0.1}", f'loopback: "{loopback}"}}')
    lab, plan = planned(text.replace("ip: [4, 6]", f"ip: [4, 6]\nrouting: {{{routing}}}"))
    assert loopback in lab.loopbacks["a"]
    assert str(ip_interface(loopback).network) in topology(lab, plan).loopbacks["a"]
    why = "of the network on the loopback of 'a' OSPF announces the address alone"
    assert why_unforeseen(lab) == (None if is_known else why)


@pytest.mark.parametrize(
    ("cost", "said"),
    [
        ("", [" ip ospf cost 1", " ipv6 ospf6 cost 1"]),
        ("loopback_cost: 7", [" ip ospf cost 7", " ipv6 ospf6 cost 7"]),
        ("loopback_cost: 0", [" ipv6 ospf6 cost 1"]),
    ],
)
def test_a_loopback_has_a_cost_of_its_own(cost: str, said: list[str]) -> None:
    text = LAB.replace("ip: [4, 6]", f"ip: [4, 6]\nrouting: {{ospf: {{{cost}}}}}")
    of_loopback = config(text, "a").partition("interface lo\n")[2].partition("exit")[0]
    assert [line for line in of_loopback.splitlines() if "cost" in line] == said


def test_a_router_of_static_routes_alone_has_daemons_for_them() -> None:
    static = "routing: {static: [{to: 10.7.0.0/16, via: 10.0.0.2}]}"
    text = LAB.replace("loopback: 10.0.0.1}", f"loopback: 10.0.0.1, {static}}}")
    assert "ip route 10.7.0.0/16 10.0.0.2\n" in config(text, "a")
