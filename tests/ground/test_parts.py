"""A lab over machines is the lab of the same file on one machine, cut between the machines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from delaylab.errors import BadInput
from delaylab.kinds import KINDS
from delaylab.plan.build import build
from delaylab.plan.cabling.outward import LanPort, Tunnel
from delaylab.plan.cabling.tunnels import (
    FLOODED,
    GROUPS,
    IDENTIFIERS,
    group_mac,
    groups,
    identifiers,
)
from delaylab.plan.kind import Rights
from delaylab.plan.model import Address, Plan, Route, Veth, operation_message
from delaylab.plan.parts import parts, tunnels
from delaylab.resolve.load import lab_from
from delaylab.resolve.resolve import lab_from_data
from delaylab.spec.source import parse

ADDRESSES = {name: f"192.0.2.{number}" for number, name in enumerate(("local", "m1", "m2"), 1)}
ROOT = Rights(root=True)


@st.composite
def labs(draw: st.DrawFn) -> dict[str, Any]:
    """A lab of hosts on this machine and two others, with links of all sorts between nodes."""
    hosts = {
        f"h{number}": machine
        for number, machine in enumerate(
            draw(st.lists(st.sampled_from([None, "m1", "m2"]), min_size=1, max_size=5))
        )
    }
    count = draw(st.integers(2, 7))
    nodes = {
        f"n{number}": {
            "host": draw(st.sampled_from(sorted(hosts))),
            "forwards": draw(st.booleans()),
        }
        for number in range(count)
    }
    links: list[dict[str, Any]] = []
    for number in range(draw(st.integers(1, 6))):
        members = draw(
            st.lists(st.sampled_from(sorted(nodes)), min_size=2, max_size=count, unique=True)
        )
        joins = {"between": members} if len(members) == 2 else {"join": members}
        delay = {"delay": "1ms"} if draw(st.booleans()) else {}
        links.append({**joins, "name": f"l{number}", "mtu": 1400, **delay})
    return {"lab": "cut", "hosts": hosts, "nodes": nodes, "links": links}


def planned(drawn: dict[str, Any], *, apart: bool) -> Plan:
    """Return the plan of a drawn lab, with its hosts on their machines or all on this one."""
    hosts = {
        name: {"machine": machine} if apart and machine else {}
        for name, machine in drawn["hosts"].items()
    }
    machines = {"m1": {"ssh": "m1"}, "m2": {"ssh": "m2"}} if apart else {}
    spec = lab_from_data({**drawn, "hosts": hosts, "machines": machines})
    return build(spec, KINDS, ROOT, machines={"m1": ROOT, "m2": ROOT})


@settings(max_examples=60, deadline=None)
@given(labs())
def test_nodes_are_the_same_wherever_their_hosts_are(drawn: dict[str, Any]) -> None:
    apart, together = planned(drawn, apart=True), planned(drawn, apart=False)
    for name, node in together.nodes.items():
        other = apart.nodes[name]
        assert [seen(each) for each in other.attachments] == [
            seen(each) for each in node.attachments
        ]
        assert other.loopbacks == node.loopbacks
    for kind in (Address, Route):
        assert of(apart, kind) == of(together, kind)
    assert carried(apart) == carried(together)
    assert list(apart.names) == list(together.names)


def seen(attachment: Any) -> tuple[Any, ...]:
    """Return what a node knows of its end of a link."""
    return attachment.link, attachment.device, attachment.mac, attachment.addresses, attachment.port


def of(plan: Plan, kind: type) -> list[Any]:
    return [each for each in plan.operations if isinstance(each, kind)]


def carried(plan: Plan) -> dict[str, Any]:
    """Return the links of every engine: their members and conditions."""
    return {agent.name: agent.links.message() for agent in plan.agents if agent.links}


@settings(max_examples=60, deadline=None)
@given(labs())
def test_parts_are_the_whole_and_each_is_complete(drawn: dict[str, Any]) -> None:
    whole = planned(drawn, apart=True)
    cut = parts(whole, ADDRESSES)
    agents = [agent for part in cut.values() for agent in part.agents]
    assert sorted(agent.name for agent in agents) == sorted(agent.name for agent in whole.agents)
    assert sum(len(part.operations) for part in cut.values()) == len(whole.operations)
    for part in cut.values():
        here = {agent.name for agent in part.agents}
        for operation in part.operations:
            ends = operation.ends if isinstance(operation, Veth) else (operation,)
            assert {getattr(end, "agent") for end in ends} <= here  # noqa: B009  of any operation
        assert part.nodes == whole.nodes


@settings(max_examples=60, deadline=None)
@given(labs())
def test_tunnels_join_exactly_the_machines_of_a_link(drawn: dict[str, Any]) -> None:
    whole = planned(drawn, apart=True)
    machine_of = {
        node: whole.machines.get(planned_node.host, "local")
        for node, planned_node in whole.nodes.items()
    }
    by_number: dict[int, set[str]] = {}
    for machine, part in parts(whole, ADDRESSES).items():
        for tunnel in tunnels(part):
            assert isinstance(tunnel, Tunnel)
            assert tunnel.local == ADDRESSES[machine]
            assert machine not in {peer.machine for peer in tunnel.peers}
            by_number.setdefault(tunnel.id, {machine}).update(peer.machine for peer in tunnel.peers)
            for peer in tunnel.peers:
                assert peer.address == ADDRESSES[peer.machine]
    expected = {
        frozenset(machine_of[node] for node in link["join" if "join" in link else "between"])
        for link in drawn["links"]
    }
    assert {frozenset(each) for each in by_number.values()} == {
        each for each in expected if len(each) > 1
    }


@given(st.text(min_size=1), st.lists(st.text(min_size=1), unique=True, max_size=50), st.data())
def test_identifiers_are_distinct_and_stay(lab: str, links: list[str], data: st.DataObject) -> None:
    found = identifiers(lab, links)
    assert sorted(found) == sorted(links)
    assert len(set(found.values())) == len(links)
    assert all(1 <= each <= IDENTIFIERS for each in found.values())
    assume(links)
    gone = data.draw(st.sampled_from(links))
    rest = identifiers(lab, [link for link in links if link != gone])
    # Two of 50 meet in one of ten thousand labs: such a one would be found by its hash.
    assert {link: found[link] for link in rest} == rest


def test_a_tunnel_has_this_form() -> None:
    drawn = {
        "lab": "cut",
        "hosts": {"h1": None, "h2": "m1"},
        "nodes": {"a": {"host": "h1"}, "b": {"host": "h2"}},
        "links": [{"between": ["a", "b"], "name": "wan", "mtu": 1400}],
    }
    part = parts(planned(drawn, apart=True), ADDRESSES)["local"]
    (tunnel,) = (each for each in part.operations if isinstance(each, Tunnel))
    (mac,) = (each.mac for each in part.nodes["b"].attachments)
    assert operation_message(tunnel) == {
        "do": "tunnel",
        "in": "wire",
        "name": "tunnel.wan",
        "mac": tunnel.mac,
        "mtu": 1400,
        "id": identifiers("cut", ["wan"])["wan"],
        "port": 4789,
        "local": "192.0.2.1",
        "peers": [{"address": "192.0.2.2", "macs": [mac]}],
    }


@pytest.mark.parametrize("kind", ["lxc", "uml", "qemu"])
def test_guests_are_started_on_the_machine_of_their_host(kind: str) -> None:
    spec = lab_from_data(
        {
            "lab": "cut",
            "machines": {"m1": {"ssh": "m1"}},
            "hosts": {"h": {"machine": "m1"}, "here": {}},
            "nodes": {"a": {"host": "h", "kind": kind}, "b": {"host": "here", "kind": kind}},
        }
    )
    cut = parts(build(spec, KINDS, ROOT, machines={"m1": ROOT}), {})
    guests = {
        machine: [agent.name for agent in plan.agents if agent.guest]
        for machine, plan in cut.items()
    }
    assert guests == {"m1": ["node.a"], "local": ["node.b"]}


def test_the_labs_of_the_page_are_the_same_on_one_machine_and_on_two() -> None:
    text = (Path(__file__).parents[2] / "docs" / "machines.md").read_text()
    one, two = (
        lab_from(parse(part.split("```")[0], "docs/machines.md"))
        for part in text.split("```yaml\n")[1:3]
    )
    assert two.machines_used == ["lab2"]
    plans = [build(lab, KINDS, ROOT, machines={"lab2": ROOT}) for lab in (one, two)]
    nodes = [
        [seen(each) for node in plan.nodes.values() for each in node.attachments] for plan in plans
    ]
    assert nodes[0] == nodes[1]


def test_a_group_of_a_link_is_no_other_link_s_and_none_that_switches_flood() -> None:
    names = [f"link-{number}" for number in range(30_000)]
    found = groups("lab", names)
    addresses = {group_mac(group) for group in found.values()}
    assert len(addresses) == len(names)
    assert all(int(group) % GROUPS >= FLOODED for group in found.values())
    assert {str(group).split(".")[0] for group in found.values()} == {"239"}
    assert group_mac(groups("lab", ["a"])["a"]) == group_mac(groups("lab", ["a", "b"])["a"])


ON_LAN = """\
lab: plain
data_plane: ethernet
machines: {m1: {ssh: m1, interfaces: [eth1, eth2]}, m2: {ssh: m2}}
hosts: {h1: {machine: m1}, h2: {machine: m2}}
nodes: {a: {host: h1}, b: {host: h2}, c: {host: h2}}
links:
  - {between: [a, b], name: one}
  - {between: [a, c], name: two}
  - {join: [a, b, c], name: three}
"""


def test_multicast_leaves_to_the_other_node_or_to_the_link_s_group() -> None:
    whole = build(lab_from(parse(ON_LAN, "lab.yaml")), KINDS, ROOT)
    cut = parts(whole, ADDRESSES, {"m2": "eth0"})
    ports = {
        machine: {each.link: each for each in _lan_ports(part)} for machine, part in cut.items()
    }
    assert {each.by for each in ports["m2"].values()} == {"eth0"}
    assert [each.by for each in ports["m1"].values()] == ["eth1", "eth2", "eth1"]
    for link in ("one", "two"):
        assert ports["m1"][link].to == ports["m2"][link].own[0]
        assert ports["m2"][link].to == ports["m1"][link].own[0]
    assert (
        ports["m1"]["three"].to
        == ports["m2"]["three"].to
        == group_mac(groups("plain", ["three"])["three"])
    )


def _lan_ports(part: Plan) -> list[LanPort]:
    return [each for each in tunnels(part) if isinstance(each, LanPort)]


def test_interfaces_on_a_lan_are_refused_for_vxlan() -> None:
    with pytest.raises(BadInput, match="only `data_plane: ethernet` uses"):
        lab_from(parse(ON_LAN.replace("ethernet", "vxlan"), "lab.yaml"))
