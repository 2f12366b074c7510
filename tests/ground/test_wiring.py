"""The links and addresses of a planned lab, as walks by forwarding tables need them."""

from __future__ import annotations

from delaylab.forwarding.tables import Hops, NextHop
from delaylab.forwarding.walks import onward
from delaylab.kinds import KINDS
from delaylab.plan.build import build
from delaylab.plan.kept import KeptPlan
from delaylab.plan.kind import Rights
from delaylab.plan.model import Bridge, Route
from delaylab.plan.wiring import destinations, link_local, wiring
from delaylab.resolve.load import lab_from
from delaylab.spec.source import parse

LAB = """
lab: wired
ip: [4, 6]
nodes: {a: {}, r: {forwards: true}, b: {}, c: {}}
links:
  - {between: [a, r], name: near}
  - {join: [r, b, c], name: lan}
"""


def planned() -> KeptPlan:
    return build(lab_from(parse(LAB, "lab.yaml")), KINDS, Rights(root=True))


def test_links_and_addresses_are_those_of_the_plan() -> None:
    plan = planned()
    found = wiring(plan, ["r"])
    assert found.beyond["r", "lan"] == {"b": "lan", "c": "lan"}
    assert found.beyond["a", "near"] == {"r": "near"}
    near = plan.attachment("r", "near")
    assert {found.owners[text.partition("/")[0]] for text in near.addresses} == {"r"}
    loopbacks = [text.partition("/")[0] for text in plan.nodes["r"].loopbacks]
    assert {found.owners[text] for text in loopbacks} == {"r"}
    assert found.owners[link_local(plan.attachment("c", "lan").mac)] == "c"


OVER_MACHINES = """
lab: wide
machines: {far: {ssh: far}}
hosts: {one: {}, two: {}, three: {machine: far}}
nodes:
  a: {host: one}
  b: {host: one, kind: native}
  c: {host: two, kind: lxc}
  d: {host: three, kind: qemu}
  e: {host: three}
links: [{join: [a, b, c, d, e], name: lan}]
"""


def test_each_bridge_keeps_every_node_behind_one_port() -> None:
    plan = build(lab_from(parse(OVER_MACHINES, "lab.yaml")), KINDS, Rights(root=True))
    mac = {node: plan.attachment(node, "lan").mac for node in "abcde"}
    found = {
        (bridge.agent, port): {node for node in mac if mac[node] in macs}
        for bridge in plan.operations
        if isinstance(bridge, Bridge)
        for port, macs in bridge.macs.items()
    }
    assert found == {
        ("host.one", "a.lan"): {"a"},  # b has the address of the bridge itself
        ("host.one", "uplink.lan"): {"c", "d", "e"},
        ("host.two", "c.lan"): {"c"},
        ("host.two", "uplink.lan"): {"a", "b", "d", "e"},
        ("host.three", "d.lan"): {"d"},
        ("host.three", "e.lan"): {"e"},
        ("host.three", "uplink.lan"): {"a", "b", "c"},
        ("wire", "one.lan"): {"a", "b"},
        ("wire", "two.lan"): {"c"},
        ("wire", "tunnel.lan"): {"d", "e"},
        ("wire.far", "three.lan"): {"d", "e"},
        ("wire.far", "tunnel.lan"): {"a", "b", "c"},
    }


def test_a_router_is_known_by_its_loopback_and_other_nodes_by_their_links() -> None:
    plan = planned()
    found = destinations(plan)
    loopbacks = [text.partition("/")[0] for text in plan.nodes["r"].loopbacks]
    assert [address for address, node in found.items() if node == "r"] == loopbacks
    on_lan = [text.partition("/")[0] for text in plan.attachment("b", "lan").addresses]
    assert [address for address, node in found.items() if node == "b"] == on_lan


def test_a_link_local_address_is_that_of_rfc_4291() -> None:
    assert link_local("34:56:78:9a:bc:de") == "fe80::3656:78ff:fe9a:bcde"


def test_planned_routes_lead_to_every_destination() -> None:
    """The planned routes as tables, and connected ones: no black hole, no loop."""
    plan = build(lab_from(parse(LAB, "lab.yaml")), KINDS, Rights(root=True))
    roads, tables = wiring(plan, ["r"]), dict[str, dict[str, Hops]]()
    for name, node in plan.nodes.items():
        table = tables.setdefault(name, {})
        for each in node.attachments:
            table |= {
                str(address.network): frozenset({NextHop(each.device)})
                for address in each.interfaces()
            }
    for route in plan.operations:
        if isinstance(route, Route) and route.kind is None:
            name = route.agent.removeprefix("node.")
            (device,) = {each.device for each in plan.nodes[name].attachments}
            hops = frozenset(NextHop(device, via) for via in route.via)
            tables[name] |= dict.fromkeys(route.to, hops)
    for destination in destinations(plan):
        found = onward(destination, tables, roads)
        assert found.holes == frozenset() == found.loops, destination
