"""The routing of netlab's topologies: static routes, settings of OSPF, policies, areas, BFD."""

from __future__ import annotations

from typing import Any

import pytest

from tests.topology.test_netlab import OSPF, lost, made, routing

STATIC = (
    "[{node: c, nexthop.node: b}, {ipv4: 10.9.0.1/16, nexthop.ipv4: 10.7.0.2}, "
    "{ipv4: 10.8.0.0/16, nexthop.discard: true}, {pool: lan, nexthop.node: b}, "
    "{node: c, nexthop.ipv4: 10.7.0.2}, {node: b, vrf: x, nexthop.node: b}]"
)
ROUTES = [
    {"to": "c", "via": "b.a-b"},
    {"to": "10.9.0.0/16", "via": "10.7.0.2"},
    {"to": "10.8.0.0/16", "type": "blackhole"},
    {"to": "172.16.0.0/16", "via": "b.a-b"},
    {"to": "10.0.0.3/32", "via": "10.7.0.2"},
]


def test_static_routes_are_those_of_a_routers_daemons() -> None:
    nodes = f"{{a: {{module: [routing], routing.static: {STATIC}}}, b: , c: }}"
    found = made("[a-b, a-b, b-c]", nodes)
    assert routing(found, "a") == {"static": ROUTES}
    assert ["a route of `routing.static`" in each for each in lost(found)] == [True]


def test_static_routes_of_a_host_are_those_of_the_node() -> None:
    nodes = f"{{a: {{device: linux, routing.static: {STATIC}}}, b: , c: }}"
    found = made("[{a: , b: , type: p2p}, b-c]", nodes)
    assert found.nodes["a"]["routes"] == ROUTES


@pytest.mark.parametrize(
    ("end", "settings"),
    [
        ("{ospf.timers: {hello: 2, dead: 5}}", {"hello": "2s", "dead": "5s"}),
        ("{ospf.timers.hello: 2}", {"hello": "2s", "dead": "8s"}),
        ("{ospf.timers.dead: 3}", {"hello": "1s", "dead": "3s"}),
        ("{ospf: {priority: 0, bfd: false}}", {"priority": 0, "bfd": False}),
        ("{ospf.password: GuessMe}", {"password": "GuessMe"}),
        ("{ospf.digest: {id: 3, key: s3cret}}", {"digest": {"3": "s3cret"}}),
        ("{ospf.digest: {key: s3cret}}", {"digest": {"1": "s3cret"}}),
        ("{ospf.network_type: point-to-multipoint}", {"network": "point-to-multipoint"}),
        ("{ospf.network_type: point-to-point}", None),
    ],
)
def test_settings_of_ospf_at_an_end_or_on_a_link_are_of_the_nodes(
    end: str, settings: dict[str, Any] | None
) -> None:
    found = made(f"[{{a: {end}, b: }}]")
    assert routing(found, "a")["ospf"].get("links") == (settings and {"a-b": settings})
    assert "links" not in routing(found, "b")["ospf"]
    whole = made(f"[{{a: , b: , {end[1:-1]}}}]")
    assert all(
        routing(whole, node)["ospf"].get("links") == (settings and {"a-b": settings})
        for node in "ab"
    )


def test_an_end_comes_before_its_link_and_that_before_its_node() -> None:
    nodes = "{a: {ospf.priority: 3}, b: {ospf.priority: 4}, c: }"
    found = made("[{a: {ospf.priority: 7}, b: , c: , ospf.priority: 5}, a-b]", nodes)
    assert routing(found, "a")["ospf"]["links"] == {
        "lan-a": {"priority": 7},
        "a-b": {"priority": 3},
    }
    assert routing(found, "b")["ospf"]["links"] == {
        "lan-a": {"priority": 5},
        "a-b": {"priority": 4},
    }
    assert routing(found, "c")["ospf"]["links"] == {"lan-a": {"priority": 5}}


def test_costs_may_differ_by_end_and_are_those_of_the_daemons_if_none_is_said() -> None:
    found = made("[{a: {ospf.cost: 17}, b: , ospf.cost: 10}, {b: {ospf.cost: 3}, c: }, a-c]")
    costs = [each["cost"] for each in found.links]
    assert costs == [{"a": 17, "b": 10}, {"b": 3, "c": 10}, 10]


@pytest.mark.parametrize(
    ("node", "kept"),
    [
        ("ospf.default: true", {"default": {}}),
        (
            "ospf.default: {always: true, type: e1, cost: 40}",
            {"default": {"always": True, "metric": 40, "type": 1}},
        ),
        ("ospf.default: false", {}),
        ("ospf.import: [bgp, static]", {"imports": ["bgp", "static"]}),
        ("ospf.import: {bgp: }", {"imports": ["bgp"]}),
        ("loopback.ospf.cost: 5", {"loopback_cost": 5}),
    ],
)
def test_a_routers_settings_of_ospf_are_in_its_routing(node: str, kept: dict[str, Any]) -> None:
    found = made("[a-b]", f"{{a: {{{node}}}, b: }}")
    assert routing(found, "a")["ospf"] == {**OSPF, **kept}
    assert lost(found) == []


POLICY = """module: [ospf]
prefix: {beacon.ipv4: 10.42.42.0/24}
routing:
  prefix:
    p: {prefix: beacon}
    q: [{ipv4: 10.8.0.0/16, max: 24}, {ipv4: 10.9.0.0/16, action: deny}]
  policy: {one: {match.prefix: p, set.med: 50}, two: [{match.prefix: q}, {action: deny}]}"""


def test_a_policy_is_a_route_map_in_the_words_of_frr() -> None:
    nodes = "{a: {ospf: {import: {bgp.policy: one}, default.policy: two}}, b: }"
    found = routing(made("[a-b]", nodes, POLICY), "a")
    assert found["ospf"]["imports"] == {"bgp": {"route_map": "one"}}
    assert found["ospf"]["default"] == {"route_map": "two"}
    assert found["added"].splitlines() == [
        "ip prefix-list q seq 10 permit 10.8.0.0/16 le 24",
        "ip prefix-list q seq 20 deny 10.9.0.0/16",
        "route-map two permit 10",
        " match ip address prefix-list q",
        "exit",
        "route-map two deny 20",
        "exit",
        "ip prefix-list p seq 10 permit 10.42.42.0/24",
        "route-map one permit 10",
        " match ip address prefix-list p",
        " set metric 50",
        "exit",
    ]


@pytest.mark.parametrize(
    ("policy", "more", "says"),
    [
        ("three", "", "`routing.policy.three` (there is no policy three) is not carried over"),
        ("one", "addressing.p2p.ipv6: 2001:db8::/48", "(FRR's OSPF has route maps of one IP"),
        ("one", "routing.policy.one.match.aspath: x", "`routing.policy.one` (match.aspath)"),
    ],
)
def test_a_policy_without_words_here_is_named_and_left_out(
    policy: str, more: str, says: str
) -> None:
    nodes = f"{{a: {{ospf.import: {{bgp.policy: {policy}}}}}, b: }}"
    found = made("[a-b]", nodes, f"{POLICY}\n{more}")
    assert says in "".join(lost(found))
    assert routing(found, "a")["ospf"]["imports"] == {"bgp": {}}
    assert "added" not in routing(found, "a")


AREAS = """module: [ospf]
plugin: [ospf.areas]
ospf.areas:
- {area: 1, kind: stub, inter_area: false, range: [10.1.0.0/16, {ipv4: 10.3.0.0/16, cost: 4}]}
- {area: 2, kind: nssa, default.cost: 15, filter: [10.4.0.0/16], external_filter: [10.5.0.0/16]}"""


def test_settings_of_areas_are_those_of_the_routers_in_them() -> None:
    found = made("[{a: , b: , ospf.area: 0}, {b: , c: , ospf.area: 1}]", "[a, b, c]", AREAS)
    ranges = [{"prefix": "10.1.0.0/16"}, {"prefix": "10.3.0.0/16", "cost": 4}]
    settings = {"1": {"kind": "stub", "summaries": False, "ranges": ranges}}
    assert routing(found, "b")["ospf"]["area_settings"] == settings
    assert "area_settings" not in routing(found, "a")["ospf"]
    assert lost(found) == []
    found = made("[{a: , b: , ospf.area: 2}]", "{a: {ospf.area: 2}, b: {ospf.area: 2}}", AREAS)
    own = {
        "kind": "nssa",
        "default_cost": 15,
        "ranges": [{"prefix": "10.4.0.0/16", "announced": False}],
    }
    assert routing(found, "b")["ospf"]["area_settings"] == {"2": own}
    said = "`ospf.areas: external_range, external_filter` is not carried over: the router's daemon"
    assert said in lost(found)[0]
    only6 = "addressing: {loopback: {ipv4: false}, p2p: {ipv4: false, ipv6: 2001:db8:1::/48}}"
    text = f"{AREAS.replace('10.5.0.0/16', '2001:db8:5::/48')}\n{only6}"
    found = made("[{a: , b: , ospf.area: 2}]", "{a: {ospf.area: 2}, b: {ospf.area: 2}}", text)
    area = routing(found, "b")["ospf"]["area_settings"]["2"]
    assert area["external_ranges"] == [{"prefix": "2001:db8:5::/48", "announced": False}]


@pytest.mark.parametrize(
    ("link", "said"),
    [
        (
            "{a: , b: , ospf.password: x}",
            "`ospf.password` is not carried over: the router's daemon",
        ),
        (
            "{a: , b: , ospf.network_type: point-to-multipoint}",
            "`ospf.network_type: point-to-multipoint` is not carried over",
        ),
    ],
)
def test_what_a_daemon_lacks_in_version_3_is_named_and_left_out(link: str, said: str) -> None:
    more = "module: [ospf]\naddressing.p2p.ipv6: 2001:db8::/48"
    found = made(f"[{link}]", more=more)
    assert said in lost(found)[0]
    assert routing(found, "a")["ospf"] == OSPF


def test_links_to_another_as_are_without_ospf_as_are_those_of_such_a_role() -> None:
    nodes = "{a: {module: [ospf, bgp], bgp.as: 1}, b: {module: [ospf, bgp], bgp.as: 2}, c: }"
    found = made("[a-b, a-c, {a: , c: , role: passive}, {a: , c: , role: external}]", nodes)
    said = [each.get("ospf") for each in found.links]
    assert said == [
        {"a": False, "b": False},
        None,
        {"a": "passive", "c": "passive"},
        {"a": False, "c": False},
    ]


def test_bfd_is_that_of_the_router_if_a_protocol_asks_for_it() -> None:
    more = "module: [ospf, bfd]\nospf.bfd: true\nbfd: {min_tx: 100, multiplier: 5}"
    found = made("[{a: , b: , ospf.bfd: false}]", more=more)
    assert routing(found, "a")["bfd"] == {"interval": "100ms", "multiplier": 5}
    assert routing(found, "a")["ospf"]["links"] == {"a-b": {"bfd": False}}
    assert "bfd" not in routing(made("[a-b]", more="module: [ospf, bfd]"), "a")


@pytest.mark.parametrize(
    ("link", "told"),
    [
        ("{a: , h: }", {"a-h": {}}),
        ("{a: , h: , ra.slaac: false}", {"a-h": {"autoconf": False}}),
        ("{a: {ra.slaac: false}, h: }", {"a-h": {"autoconf": False}}),
        ("{a: , h: , ra.disable: true}", None),
        ("{a: , b: }", None),
        ("{a: , b: , ra.slaac: true}", {"a-b": {}}),
        ("{a: , h: , prefix.ipv4: 10.7.0.0/24}", None),
    ],
)
def test_routers_advertise_themselves_where_hosts_are_or_the_link_says_so(
    link: str, told: dict[str, Any] | None
) -> None:
    more = "module: [ospf]\naddressing: {lan.ipv6: 2001:db8::/48, p2p.ipv6: 2001:db8:1::/48}"
    found = made(f"[{link}]", "{a: , b: , h: {device: linux}}", more)
    assert routing(found, "a").get("router_advertisements") == told


def test_a_link_of_two_routers_with_ospf_may_be_unnumbered() -> None:
    found = made("[{a: , b: , prefix.ipv4: true}]")
    assert found.links == [
        {"between": ["a:eth1", "b:eth1"], "name": "a-b", "unnumbered": True, "cost": 10}
    ]
    assert lost(found) == []
    for link in ("{a: , h: , unnumbered: true}", "{a: , b: , c: , unnumbered: true}"):
        other = made(f"[{link}]", "{a: , b: , c: , h: {device: linux}}")
        assert "unnumbered" not in other.links[0]
        assert "an unnumbered link is not carried over" in lost(other)[0]
