"""Unnumbered links, whose ends have addresses of loopbacks, and nodes of one IP version alone."""

from __future__ import annotations

from ipaddress import ip_interface

import pytest

from delaylab.errors import BadInput
from delaylab.forwarding.expected import expected_tables
from delaylab.forwarding.topology import NO_FAULTS
from delaylab.plan.foreseen import why_unforeseen
from delaylab.plan.model import Route
from delaylab.plan.routed_topology import topology
from tests.ground.test_routing import planned

LINE = """
lab: line
ip: [4, 6]
routing: {ospf: {}}
nodes:
  r: {forwards: true, count: 3}
  h: {}
links:
  - {between: [r-1, r-2], name: a, unnumbered: true}
  - {between: [r-2, r-3], name: b, unnumbered: true}
  - {between: [h, r-1], name: edge}
"""


def test_both_ends_have_their_routers_address_and_no_network() -> None:
    lab, plan = planned(LINE)
    for node, link in (("r-1", "a"), ("r-2", "a"), ("r-2", "b")):
        assert plan.attachment(node, link).addresses == (f"{plan.nodes[node].loopback(4)}/32",)
    assert why_unforeseen(lab) is None
    tables = expected_tables(topology(lab, plan), NO_FAULTS)
    far = f"{plan.nodes['r-3'].loopback(4)}/32"
    (hop,) = tables["r-1"][far]
    assert (hop.gateway, hop.device) == (plan.nodes["r-2"].loopback(4), "a")
    # The links themselves are no networks: there are loopbacks, and the host's link.
    ends = [ip_interface(text) for text in plan.attachment("h", "edge").addresses]
    loopbacks = [f"{plan.nodes[each].loopback(4)}/32" for each in ("r-1", "r-2")]
    of_4 = {prefix for prefix in tables["r-3"] if ":" not in prefix}
    assert of_4 == {*loopbacks, *(str(end.network) for end in ends if end.version == 4)}
    (hop,) = tables["r-3"][f"{plan.nodes['r-1'].loopback(6)}/128"]
    assert (hop.gateway or "").startswith("fe80::")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (LINE.replace("between: [r-1, r-2]", "join: [r-1, r-2]"), "joins two routers"),
        (
            LINE.replace("a, unn", "a, addresses: {r-1: 10.0.0.1/30, r-2: 10.0.0.2/30}, unn"),
            "has no `addresses`",
        ),
        (LINE.replace("[4, 6]", "[6]"), "is for IPv4, and the lab has none"),
        (LINE.replace("{ospf: {}}", "isis"), "needs OSPF on both ends, and 'r-1' does not"),
        (LINE.replace("{ospf: {}}", "{by: bird, ospf: {}}"), "needs FRR on both ends, and 'r-1'"),
        (LINE.replace("{ospf: {}}", "{ospf: {}, bgp: {as: 65000}}"), "has OSPF alone, and 'r-1'"),
        (LINE.replace("a, unn", "a, ospf: false, unn"), "needs OSPF on both ends, and 'r-1'"),
        (LINE.replace("[h, r-1], name: edge", "[h, r-1], name: a, unnumbered: true"), "and 'h'"),
        (LINE.replace("routing: {ospf: {}}\n", ""), "needs OSPF on both ends, and 'r-1' does not"),
    ],
)
def test_an_unnumbered_link_that_routers_cannot_use_is_one_line(text: str, what: str) -> None:
    text = text.replace("name: b, unnumbered: true", "name: b").replace(
        "{between: [h, r-1], name: a,", "{between: [h, r-1], name: edge,"
    )
    with pytest.raises(BadInput) as refused:
        planned(text)
    assert what in str(refused.value)
    assert str(refused.value).startswith("lab.yaml:")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("routing", ["", "routing: ospf"])
def test_a_node_without_an_address_of_an_ip_version_has_no_route_of_it(routing: str) -> None:
    """The kernel refuses a next hop that the node could not reach."""
    _, plan = planned(
        f"""
lab: partly
ip: [4, 6]
{routing}
nodes: {{r: {{forwards: true, count: 2}}, h: {{}}, k: {{}}}}
links:
  - {{between: [r-1, r-2], name: core}}
  - join: [r-1, h]
    name: lan
    addresses: {{r-1: [10.1.0.1/24, "2001:db8:1::1/64"], h: 10.1.0.2/24}}
  - {{between: [r-2, k], name: far}}
"""
    )
    versions = {
        node: {
            ":" in network
            for route in plan.operations
            if isinstance(route, Route) and route.agent == plan.nodes[node].stack
            for network in route.to
        }
        for node in ("h", "k")
    }
    assert versions == {"h": {False}, "k": {False, True}}
