"""Topologies of netlab: what each form and field becomes, and what is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from delaylab.errors import BadInput
from delaylab.topology import formats
from delaylab.topology.formats.netlab.rows import END, LINK, NODE
from delaylab.topology.lab import MapLab
from delaylab.topology.options import Options
from delaylab.topology.source import Source
from delaylab.verbs.maps import checked, imported
from tests.topology.maps import spec

OSPF = {"loopback_cost": 0}
"""The settings of every router that speaks OSPF: netlab's loopbacks cost 0."""
PAGE = (Path(__file__).parents[2] / "docs/netlab.md").read_text()


def made(links: str, nodes: str = "[a, b, c]", more: str = "module: [ospf]") -> MapLab:
    text = f"{more}\nnodes: {nodes}\nlinks: {links}\n"
    source = Source("t.yml", text, "t")
    assert formats.recognised(source).format.name == "netlab"
    found = checked(formats.read(source, Options()), None, Options())
    spec(found)
    return found


def lost(found: MapLab) -> list[str]:
    return [f"{each.line}: {each.what}" for each in found.map.problems]


def routing(found: MapLab, node: str) -> Any:
    return found.nodes[node].get("routing")


@pytest.mark.parametrize(
    "link",
    ["a-b", "[a, b]", "{a: , b: }", "{interfaces: [a, b]}", "{interfaces: [{node: a}, b]}"],
)
def test_each_short_form_is_a_link_of_two(link: str) -> None:
    found = made(f"[{link if link.startswith(('[', '{')) else repr(link)}]")
    ends = {"between": ["a:eth1", "b:eth1"], "name": "a-b", "cost": 10}
    assert found.links == [{**ends, "addresses": {"a": "10.1.0.1/30", "b": "10.1.0.2/30"}}]
    assert lost(found) == []


def test_interfaces_are_numbered_by_node_in_the_order_of_links() -> None:
    found = made("[a-b, [a, b, c], {a: {ifname: up}}, {group: g, mtu: 1400, members: [b-c]}]")
    assert [each.get("between", each.get("join")) for each in found.links] == [
        ["a:eth1", "b:eth1"],
        ["b:eth3", "c:eth2"],
        ["a:eth2", "b:eth2", "c:eth1"],
        ["a:up"],
    ]
    assert found.links[1]["mtu"] == 1400


@pytest.mark.parametrize(
    ("nodes", "kept"),
    [
        ("{a: {device: linux}, b: , c: }", {"forwards": None, "routing": None}),
        ("{a: {device: frr}, b: , c: }", {"forwards": True, "routing": {"ospf": OSPF}}),
        ("{a: {device: bird}, b: , c: }", {"routing": {"ospf": OSPF, "by": "bird"}}),
        (
            "{a: {module: [bgp], bgp.as: 65000.1}, b: , c: }",
            {"routing": {"bgp": {"as": 4259840001}}},
        ),
        ("{a: {module: []}, b: , c: }", {"forwards": True, "routing": None}),
        (
            "{a: {ospf: {area: 0, timers: {hello: 2}}}, b: , c: }",
            {"routing": {"ospf": {"area": "0", "hello": "2s", "dead": "8s", **OSPF}}},
        ),
        (
            "{a: {router_id: 10.0.0.9}, b: , c: }",
            {"routing": {"ospf": OSPF, "router_id": "10.0.0.9"}},
        ),
    ],
)
def test_devices_and_modules_become_routing(nodes: str, kept: dict[str, Any]) -> None:
    found = made("[b-c, {a: }]", nodes)
    assert {name: found.nodes["a"].get(name) for name in kept} == kept


def test_groups_give_their_members_fields_and_make_nodes() -> None:
    groups = (
        "{_auto_create: true, g: {members: [x, a], device: linux}, "
        "h: {members: [b], node_data: {ospf.area: 2}}}"
    )
    found = made("[a-b, x-b]", "{a: , b: }", f"module: [ospf]\ngroups: {groups}")
    assert found.nodes["x"] == found.nodes["a"] == {}
    assert routing(found, "b") == {"ospf": {"area": "2", **OSPF}}


def test_what_is_said_of_a_link_and_of_an_end_is_in_the_lab() -> None:
    end = "a: {ospf.passive: true, ospf.area: 0.0.0.0}"
    link = f"{{{end}, b: , ospf: {{cost: 7, area: 0}}, bandwidth: 10}}"
    found = made(f"[{link}, {{a: , c: , ospf: false}}]")
    assert found.links[0]["ospf"] == {"a": "passive"}
    assert found.links[0]["cost"] == 7
    assert found.links[0]["bandwidth"] == "10kbit"
    assert found.links[1]["ospf"] is False
    assert routing(found, "a")["ospf"]["areas"] == {"a-b": "0.0.0.0"}
    assert routing(found, "b")["ospf"]["areas"] == {"a-b": "0"}


@pytest.mark.parametrize(
    ("link", "addresses"),
    [
        ("{a: , b: , prefix: 10.7.0.0/24}", {"a": "10.7.0.1/24", "b": "10.7.0.2/24"}),
        ("{a: 10.7.0.9/24, b: {ipv4: 10.7.0.8/24}}", {"a": "10.7.0.9/24", "b": "10.7.0.8/24"}),
        ("{a.ipv4: 10.7.0.9/24}", {"a": "10.7.0.9/24"}),
        ("{b: , a: }", {"a": "10.1.0.1/30", "b": "10.1.0.2/30"}),
        ("{a: , b: , pool: lan}", {"a": "172.16.0.1/24", "b": "172.16.0.2/24"}),
        ("{a: , b: , c: }", {"a": "172.16.0.1/24", "b": "172.16.0.2/24", "c": "172.16.0.3/24"}),
        ("{c: , prefix: 10.7.0.0/24}", {"c": "10.7.0.3/24"}),
        ("{c: , prefix: 10.7.0.0/30}", {"c": "10.7.0.1/30"}),
        ("{a: , b: {ipv4: 9}, prefix: 10.7.0.0/24}", {"a": "10.7.0.1/24", "b": "10.7.0.9/24"}),
        ("{a: , b: , prefix: 10.7.0.0/31}", {"a": "10.7.0.0/31", "b": "10.7.0.1/31"}),
        ("{a: , b: , prefix: named}", {"a": "10.6.0.1/24", "b": "10.6.0.2/24"}),
        ("{a: , b: , prefix: false}", None),
        ("{a: {ipv4: 10.7.0.9/24}, b: }", None),
        ("{a: {ipv4: 10.7.0.9/24}, b: {ipv4: 10.8.0.9/24}}", None),
        ("{a: {ipv4: true}, b: }", None),
        ("{a: , b: , unnumbered: true}", None),
    ],
)
def test_addresses_are_those_that_netlab_gives(link: str, addresses: dict[str, str] | None) -> None:
    more = "module: [ospf]\nprefix: {named: {ipv4: 10.6.0.0/24}}"
    assert made(f"[{link}]", more=more).links[0].get("addresses") == addresses


def test_loopbacks_and_router_ids_are_those_that_netlab_gives() -> None:
    nodes = (
        "{a: {id: 9}, b: {loopback.ipv4: 10.9.0.1/24}, c: {loopback: false}, h: {device: linux}}"
    )
    found = made("[a-b, c-h]", nodes)
    assert [node.get("loopback") for node in found.nodes.values()] == [
        "10.0.0.9",
        "10.9.0.1/24",
        None,
        None,
    ]
    only6 = "module: [ospf]\naddressing: {loopback: {ipv4: false, ipv6: 2001:db8:1::/48}}"
    found = made("[a-b]", more=only6)
    assert found.nodes["b"]["loopback"] == "2001:db8:1:2::1/64"
    assert routing(found, "b")["router_id"] == "10.0.0.2"


def test_numbers_of_nodes_are_those_that_no_other_has() -> None:
    found = made("[a-b]", "{a: , b: {id: 1}, c: , d: {id: 3}}")
    said = [found.nodes[name]["loopback"] for name in "abcd"]
    assert said == ["10.0.0.2", "10.0.0.1", "10.0.0.4", "10.0.0.3"]


@pytest.mark.parametrize(
    ("more", "ip"),
    [
        ("addressing: {lan: {ipv6: 2001:db8::/48}}", None),
        ("addressing.p2p.ipv6: 2001:db8::/48", [4, 6]),
        (
            "addressing: {loopback.ipv4: false, lan: {ipv4: false, ipv6: 2001:db8::/48}, "
            "p2p: {ipv4: false, ipv6: 2001:db8:1::/48}}",
            [6],
        ),
        ("addressing: {lan: {ipv4: 10.0.0.0/8}}", None),
    ],
)
def test_ip_versions_are_those_of_the_pools(more: str, ip: list[int] | None) -> None:
    assert made("[a-b]", more=f"module: [ospf]\n{more}").whole.get("ip") == ip


def test_a_link_that_is_shut_down_and_mtus_of_nodes_are_in_the_lab() -> None:
    found = made("[{a: {shutdown: true}, b: }, a-c]", "{a: {mtu: 1400}, b: {mtu: 1400}, c: }")
    assert found.links[0]["state"] == "down"
    assert found.links[0]["mtu"] == 1400
    assert "mtu" not in found.links[1]
    assert "`mtu` of one end is not carried over: a link has one MTU" in lost(found)[0]


def test_a_loopback_link_is_an_interface_of_its_own() -> None:
    found = made("[{a: , type: loopback, pool: vrf_loopback}, a-b]")
    assert found.links[1]["join"] == ["a:lo1"]
    assert found.links[1]["addresses"] == {"a": "10.2.0.1/32"}
    assert found.links[0]["between"] == ["a:eth1", "b:eth1"]


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ("validate: {x: {nodes: [a]}}", "1: `validate` is not carried over: `delaylab converge`"),
        ("plugin: [x]", "1: plugin x is not carried over: a plugin is a program"),
        ("routing.community: {c: 1}", "`routing.community` is not carried over"),
        ("vrfs: {x: }", "1: `vrfs` is not carried over: a lab has no VRF"),
        ("defaults.sources.extra: [../x.yml]", "only `topology-defaults.yml` and extra files"),
        ("defaults.ospf.process: 3", "`ospf.process` of all is not carried over"),
    ],
)
def test_parts_without_a_counterpart_are_named(more: str, says: str) -> None:
    (found,) = lost(made("[a-b]", more=f"{more}\nmodule: [ospf]"))
    assert says in found


@pytest.mark.parametrize(
    ("link", "nodes", "says"),
    [
        ("a-x", "[a, b, c]", "3: expected a link between nodes"),
        (
            "{a: , b: , ospf.cost: x}",
            "[a, b, c]",
            "`ospf.cost: x` is not carried over: no lab file",
        ),
        ("{a: , b: , vrf: x}", "[a, b, c]", "`vrf` is not carried over: a lab has no VRF"),
        (
            "{a: {ospf.priority: 300}, b: }",
            "[a, b, c]",
            "`ospf.priority` is not carried over: no lab file",
        ),
        (
            "{a: {ospf.process: 3}, b: }",
            "[a, b, c]",
            "`ospf.process` is not carried over: `added:`",
        ),
        (
            "{a: {ipv4: true}, b: , c: }",
            "[a, b, c]",
            "an unnumbered link is not carried over: the link's addresses are delaylab's",
        ),
        (
            "{a: , b: , ospf.area: 999.1.1.1}",
            "[a, b, c]",
            "`ospf.area: 999.1.1.1` is not carried over: no lab file",
        ),
        (
            "a-b",
            "{a: {router_id: x}, b: , c: }",
            "`router_id: x` is not carried over: no lab file can have it (node a)",
        ),
        ("a-b", "{a: {ospf.import: [ripv2]}, b: , c: }", "`ospf.import.ripv2` is not carried over"),
        ("a-b", "{a: {ospf.default.x: 1}, b: , c: }", "`ospf.default.x` is not carried over"),
        (
            "a-b",
            "{a: , b: , c: {device: linux, loopback: true}}",
            "`loopback` of a host is not carried over: a lab has those of routers",
        ),
        ("a-b", "{a: {device: eos}, b: , c: }", "device 'eos' is not carried over: it becomes"),
        ("a-b", "{a: {module: [ospf, vlan]}, b: , c: }", "module vlan is not carried over"),
        ("a-b", "{a: {bgp.rr: true}, b: , c: }", "`bgp.rr` is not carried over: `added:`"),
        ("[a, a]", "[a, b, c]", "a link of a node with itself is not carried over"),
    ],
)
def test_what_does_not_fit_is_named_with_its_line(link: str, nodes: str, says: str) -> None:
    (found,) = lost(made(f"[b-c, {link}]", nodes))
    assert says in found


def test_files_of_defaults_beside_the_topology_are_read(tmp_path: Path) -> None:
    (tmp_path / "topology-defaults.yml").write_text("ospf.timers.hello: 3\n")
    (tmp_path / "more.yml").write_text("device: bird\n")
    (tmp_path / "t.yml").write_text(
        "module: [ospf]\ndefaults.sources.extra: [more.yml]\nnodes: [a, b]\nlinks: [a-b]\n"
    )
    found = imported(str(tmp_path / "t.yml"), None, None, Options())
    assert routing(found, "a") == {"ospf": {"hello": "3s", "dead": "12s", **OSPF}, "by": "bird"}
    assert lost(found) == []


def test_defaults_that_are_a_link_out_of_the_folder_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "outside.yml").write_text("device: bird\n")
    folder = tmp_path / "of-others"
    folder.mkdir()
    (folder / "topology-defaults.yml").symlink_to(tmp_path / "outside.yml")
    (folder / "t.yml").write_text("module: [ospf]\nnodes: [a, b]\nlinks: [a-b]\n")
    found = imported(str(folder / "t.yml"), None, None, Options())
    assert routing(found, "a") == {"ospf": OSPF}


def test_a_topology_without_nodes_is_refused() -> None:
    with pytest.raises(BadInput, match="the topology has no nodes"):
        formats.read(Source("t.yml", "module: [ospf]\nnodes:\nlinks: []\n", "t"), Options())


def test_a_lab_file_is_no_topology_of_netlab() -> None:
    with pytest.raises(BadInput, match="this is a lab file already"):
        formats.recognised(Source("t.yml", "lab: x\nnodes: {a: {}}\nlinks: []\n", "t"))


def test_the_page_names_every_field_that_is_carried() -> None:
    for path in (*NODE, *LINK, *END):
        name = path[-1]
        assert name in PAGE, f"{'.'.join(path)} is not on the page"


def test_what_is_of_daemons_is_left_out_where_there_are_none() -> None:
    found = made("[{a: {ospf.cost: 3}, b: }]", "{a: {bfd.min_tx: 100}, b: }", "module: [bfd]")
    assert found.links[0].get("cost") is None
    assert routing(found, "a") is None
    assert "`cost` of one end is not carried over: daemons have such costs" in lost(found)[0]


def test_a_loopback_has_no_address_of_the_other_ip_version() -> None:
    found = made("[a-b]", "{a: {loopback: {ipv6: 10.9.0.1/32, ipv4: x}}, b: }")
    assert found.nodes["a"].get("loopback") is None
    assert found.nodes["b"]["loopback"] == "10.0.0.2"
