"""Settings of routers beyond their times: what FRR and BIRD are told of them, what is refused."""

from __future__ import annotations

from ipaddress import ip_interface

import pytest

from delaylab.errors import BadInput
from delaylab.plan.foreseen import why_unforeseen
from tests.ground.test_routing import config, planned

PAIR = """
lab: pair
ip: [IP]
routing: {by: BY, ospf: {OSPF}, MORE}
nodes: {r: {forwards: true, count: 2}}
links:
  - {between: [r-1, r-2], name: a}
  - {join: [r-1, r-2], name: lan}
"""


def pair(ospf: str = "", more: str = "timeout: 60s", by: str = "frr", ip: str = "4, 6") -> str:
    text = PAIR.replace("OSPF", ospf).replace("MORE", more).replace("BY", by)
    return text.replace("IP", ip)


def frr(text: str, node: str = "r-1") -> str:
    """Return `frr.conf` of a router."""
    _, plan = planned(text)
    return plan.daemons[node].files["/etc/frr/frr.conf"].content


def of_interface(text: str, device: str) -> list[str]:
    block = text.partition(f"interface {device}\n")[2].partition("exit\n")[0]
    return [line.strip() for line in block.splitlines()]


LINK = "links: {a: {hello: 2s, dead: 5s, digest: {3: x!y}, mtu_ignore: true}, lan: {priority: 0}}"


def test_frr_has_the_settings_of_each_link() -> None:
    lines = of_interface(frr(pair(LINK)), "a")
    for version in ("ip ospf", "ipv6 ospf6"):
        assert f"{version} hello-interval 2" in lines
        assert f"{version} dead-interval 5" in lines
        assert f"{version} mtu-ignore" in lines
    assert "ip ospf authentication message-digest" in lines
    assert "ip ospf message-digest-key 3 md5 x!y" in lines
    assert "ipv6 ospf6 authentication key-id 3 hash-algo hmac-sha-256 key x!y" in lines
    assert "ip ospf priority 0" in of_interface(frr(pair(LINK)), "lan")
    assert "ip ospf hello-interval 10" in of_interface(frr(pair(LINK)), "lan")
    clear = of_interface(frr(pair("links: {a: {password: GuessMe}}", ip="4")), "a")
    assert "ip ospf authentication" in clear
    assert "ip ospf authentication-key GuessMe" in clear
    several = frr(pair("links: {lan: {network: point-to-multipoint}}", ip="4"))
    assert "ip ospf network point-to-multipoint" in of_interface(several, "lan")


def test_frr_advertises_itself_on_the_links_that_the_file_names() -> None:
    told = "router_advertisements: {lan: {interval: 2s, lifetime: 0s, autoconf: false}}"
    lines = of_interface(frr(pair(more=told)), "lan")
    assert "no ipv6 nd suppress-ra" in lines
    assert "ipv6 nd ra-interval 2" in lines
    assert "ipv6 nd ra-lifetime 0" in lines
    _, plan = planned(pair(more=told))
    (prefix,) = (line for line in lines if line.startswith("ipv6 nd prefix"))
    address = ip_interface(plan.attachment("r-1", "lan").addresses[1])
    assert prefix == f"ipv6 nd prefix {address.network} no-autoconfig"
    assert not any("nd" in line.split() for line in of_interface(frr(pair(more=told)), "a"))
    with pytest.raises(BadInput, match="`router_advertisements` are of IPv6"):
        planned(pair(more=told, ip="4"))


def test_ranges_of_external_routes_are_those_of_the_area() -> None:
    area = "area: 3, area_settings: {3: {kind: nssa, external_ranges: [RANGES]}}"
    of_6 = area.replace("RANGES", "{prefix: 'fd00::/16', announced: false}")
    assert " area 0.0.0.3 nssa range fd00::/16 not-advertise" in frr(pair(of_6)).splitlines()
    both = area.replace("RANGES", "{prefix: 10.0.0.0/8}, {prefix: 'fd00::/16'}")
    bird = config(pair(both, by="bird"))
    assert "    external { 10.0.0.0/8; };\n" in bird
    assert "    external { fd00::/16; };\n" in bird


def test_bird_has_them_too() -> None:
    text = config(pair(LINK.replace(", mtu_ignore: true", ""), by="bird"))
    assert text.count("      hello 2;\n      dead 5;\n") == 2
    assert 'password "x!y" { id 3; algorithm keyed md5; };' in text
    assert 'password "x!y" { id 3; algorithm hmac sha256; };' in text
    assert text.count("priority 0;") == 2
    clear = config(pair("links: {a: {password: GuessMe}}", by="bird", ip="4"))
    assert 'authentication simple; password "GuessMe";' in clear
    many = config(pair("links: {lan: {network: point-to-multipoint}}", by="bird"))
    assert "type ptmp;" in many


def test_a_nodes_own_routing_is_of_its_end_alone() -> None:
    text = pair("links: {a: {priority: 5}}").replace(
        "count: 2", "count: 2, routing: {ospf: {links: {lan: {priority: 9}}}}"
    )
    found = frr(text)
    assert "ip ospf priority 5" in of_interface(found, "a")
    assert "ip ospf priority 9" in of_interface(found, "lan")


def test_bfd_has_its_daemon_and_watches_neighbours() -> None:
    text = pair("links: {lan: {bfd: false}}", "bfd: {interval: 50ms, multiplier: 4}")
    _, plan = planned(text)
    assert plan.nodes["r-1"].programs == ("zebra", "bfdd", "ospfd", "ospf6d")
    own = plan.daemons["r-1"].files["/etc/frr/bfdd.conf"].content
    assert "  transmit-interval 50\n  receive-interval 50\n exit\nexit\n" in own
    assert "interface" not in own
    assert "bfd" not in plan.daemons["r-1"].files["/etc/frr/zebra.conf"].content
    assert "ip ospf bfd profile delaylab" in of_interface(frr(text), "a")
    assert not any("bfd" in line for line in of_interface(frr(text), "lan"))
    bird = config(pair("links: {lan: {bfd: false}}", "bfd: true", by="bird"))
    assert 'interface "*" { interval 300 ms; multiplier 3; };' in bird
    assert bird.count("bfd yes;") == 2, "of `a`, in both versions"


ELSEWHERE = "imports: {static: {metric: 7, type: 1}, bgp: {}}"
STATIC = "static: [{to: 10.9.0.0/16, via: r-2.a}, {to: 10.8.0.1/32, type: TYPE}]"


def test_routes_from_elsewhere_are_imported() -> None:
    own = {"static": STATIC.partition("static: ")[2].replace("TYPE", "unreachable")}
    of_one = f"lab: s\nnodes:\n  q: {{forwards: true, routing: {{static: {own['static']}, ospf: "
    of_one += f"{{{ELSEWHERE}}}}}}}\n  r: {{forwards: true, count: 2, routing: ospf}}\n"
    of_one += "links: [{between: [q, r-2], name: a}, {between: [r-1, r-2], name: b}]\n"
    lab, plan = planned(of_one)
    assert plan.nodes["q"].programs == ("zebra", "staticd", "ospfd")
    via = plan.attachment("r-2", "a").address
    static = plan.daemons["q"].files["/etc/frr/staticd.conf"].content
    lines = [line for line in static.splitlines() if line]
    assert lines == [f"ip route 10.9.0.0/16 {via}", "ip route 10.8.0.1/32 reject"]
    ospf = plan.daemons["q"].files["/etc/frr/ospfd.conf"].content
    assert " redistribute static metric 7 metric-type 1\n redistribute bgp\n" in ospf
    bird = config(of_one.replace("routing: {static", "routing: {by: bird, static"), "q")
    assert f"  route 10.9.0.0/16 via {via};\n  route 10.8.0.1/32 unreachable;" in bird
    assert "if source = RTS_STATIC then { ospf_metric1 = 7; accept; }" in bird
    assert why_unforeseen(lab) == "`ospf: imports` brings routes from elsewhere, or leaves some out"


def test_default_routes_and_areas_are_told() -> None:
    default = "default: {always: true, metric: 40, type: 1, route_map: df}"
    words = " default-information originate always metric 40 metric-type 1 route-map df\n"
    assert frr(pair(default)).count(words) == 2
    area = "areas: {a: 11}, area_settings: {11: SETTINGS}"
    stub = "{kind: stub, summaries: false, default_cost: 15, ranges: [{prefix: 10.1.0.0/16}]}"
    text = frr(pair(area.replace("SETTINGS", stub)))
    assert text.count(" area 0.0.0.11 stub no-summary\n") == 2
    assert " area 0.0.0.11 default-cost 15\n area 0.0.0.11 range 10.1.0.0/16\n" in text
    bird = config(pair(area.replace("SETTINGS", stub), by="bird"))
    assert "    stub;\n    summary no;\n    default cost 15;\n    networks { 10.1.0.0/16; };" in (
        bird
    )
    nssa = "{kind: nssa, ranges: [{prefix: '2001:db8::/32', announced: false}]}"
    text = frr(pair(area.replace("SETTINGS", nssa)))
    assert " area 0.0.0.11 nssa\n area 0.0.0.11 range 2001:db8::/32 not-advertise\n" in text


def test_the_ospf3_of_frr_is_told_of_an_nssas_default_route_at_its_border() -> None:
    settings = "area_settings: {22: {kind: nssa, summaries: false, default_cost: 15}}"
    words = " area 0.0.0.22 nssa default-information-originate metric 15 no-summary\n"
    border = frr(pair(f"areas: {{a: 22}}, {settings}"))
    assert border.count(words) == 1, "of version 2 the router announces it by itself"
    assert words in frr(pair(f"areas: {{a: 22}}, {settings}", ip="6"))
    inside = frr(pair(f"areas: {{a: 22, lan: 22}}, {settings}"))
    assert inside.count(" area 0.0.0.22 nssa no-summary\n") == 2
    stub = "areas: {a: 22}, area_settings: {22: {kind: stub, default_cost: 15}}"
    with pytest.raises(BadInput, match=r"FRR 8\.4 has no `default_cost` of stub areas"):
        planned(pair(stub, ip="6"))


def test_bgp_announces_what_it_imports() -> None:
    text = frr(pair("", "bgp: {as: 65000, imports: [ospf, static]}"))
    assert text.count("  redistribute static\n") == 2
    assert "  redistribute ospf\n" in text
    assert "  redistribute ospf6\n" in text
    bird = config(pair("", "bgp: {as: 65000, imports: [ospf]}", by="bird"))
    assert (
        "if source ~ [ RTS_OSPF, RTS_OSPF_IA, RTS_OSPF_EXT1, RTS_OSPF_EXT2 ] then accept;" in bird
    )


@pytest.mark.parametrize(
    ("ospf", "more", "by", "told"),
    [
        ("links: {x: {priority: 1}}", "", "frr", "lab.yaml:4: no link 'x' (links: a, lan)"),
        ("links: {a: {priority: 256}}", "", "frr", "priority: expected at most 255, got 256"),
        ("links: {a: {hello: 50s}}", "", "frr", "`dead` (40s) has to be longer than `hello` (50s)"),
        ("links: {a: {password: x}}", "", "frr", "OSPF version 3 has no `password` (link 'a')"),
        ("links: {a: {password: much-too-long}}", "", "frr", "8 characters"),
        ("links: {a: {password: x, digest: {1: y}}}", "", "frr", "either `password` or `digest`"),
        ("links: {a: {digest: {1: x, 2: y}}}", "", "frr", "`digest` has one key"),
        (
            "links: {a: {digest: {1: 'a b'}}}",
            "",
            "frr",
            "expected a secret of letters, digits and .",
        ),
        ("links: {a: {network: point-to-multipoint}}", "", "frr", "of FRR 8.4 has no point-to-mul"),
        ("links: {a: {mtu_ignore: true}}", "", "bird", "BIRD has no `mtu_ignore`"),
        ("links: {a: {bfd: true}}", "", "frr", "`bfd` of link 'a' needs BFD on the router"),
        ("", "bfd: {interval: 1ms}", "frr", "`interval` is whole ms from 10ms to 60s, got 1ms"),
        ("", "bfd: {multiplier: 1}", "frr", "multiplier: expected at least 2, got 1"),
        ("area_settings: {3: {kind: stub}}", "", "frr", "no link is in area 0.0.0.3"),
        ("area_settings: {0: {kind: nssa}}", "", "frr", "the backbone is no nssa area"),
        ("area_settings: {0: {summaries: false}}", "", "frr", "`summaries` and `default_cost` are"),
        (
            "area_settings: {0: {ranges: [{prefix: 10.1.0.0/8}]}}",
            "",
            "frr",
            "expected a network such as 10.9.0.0/16, got '10.1.0.0/8'",
        ),
        (
            "area_settings: {0: {ranges: [{prefix: 10.0.0.0/8, cost: 3}]}}",
            "",
            "bird",
            "BIRD has no `cost` of a range",
        ),
        (
            "area_settings: {0: {external_ranges: [{prefix: 10.0.0.0/8}]}}",
            "",
            "frr",
            "`external_ranges` are of `kind: nssa`",
        ),
        (
            "area: 3, area_settings: {3: {kind: nssa, external_ranges: [{prefix: 10.0.0.0/8}]}}",
            "",
            "frr",
            "lab.yaml:4: the OSPF version 2 of FRR 8.4 has no external ranges (area 0.0.0.3)",
        ),
        ("", "router_advertisements: [x]", "frr", "lab.yaml:4: no link 'x' (links: a, lan)"),
        ("", "router_advertisements: [lan]", "bird", "router advertisements by BIRD are not"),
        (
            "",
            "router_advertisements: {lan: {interval: 100ms}}",
            "frr",
            "`interval` is whole seconds from 1s to 1800s, got 100ms",
        ),
        (
            "",
            "router_advertisements: {lan: {interval: 5s, lifetime: 3s}}",
            "frr",
            "`lifetime` is 0s, or whole seconds from `interval` (5s) to 9000s, got 3s",
        ),
        ("default: {}", "", "bird", "BIRD originates no default route"),
        ("imports: [rip]", "", "frr", "lab.yaml:4: "),
        ("imports: [kernel]", "", "bird", "BIRD has no import of `kernel` into OSPF"),
        ("imports: {static: {route_map: x}}", "", "bird", "BIRD has no route maps"),
        ("imports: {static: {route_map: 'x y'}}", "", "frr", "expected a name of letters"),
        ("", "bgp: {imports: [kernel]}", "bird", "BIRD has no import of `kernel` into BGP"),
        ("", "static: [{to: 10.0.0.0/8, via: [r-1, r-2]}]", "frr", "has several next hops"),
        ("", "static: [{to: 10.0.0.0/8, via: r-1, metric: 3}]", "frr", "daemons do not set"),
        ("", "static: [{to: 10.0.0.0/8, type: prohibit}]", "frr", "of type `prohibit`, which dae"),
        ("", "static: [{to: 10.0.0.0/8, dev: a}]", "frr", "has no next hop"),
    ],
)
def test_what_no_router_can_have_is_refused_in_a_line(
    ospf: str, more: str, by: str, told: str
) -> None:
    with pytest.raises(BadInput) as caught:
        planned(pair(ospf, more or "timeout: 60s", by))
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("ospf", "more", "is_known"),
    [
        ("links: {a: {hello: 2s, dead: 5s, digest: {1: x}, priority: 3}}", "bfd: true", True),
        ("links: {lan: {priority: 0}}", "", False),
        ("default: {always: true}", "", False),
        ("imports: [connected]", "", False),
        ("area_settings: {0: {ranges: [{prefix: 10.0.0.0/8}]}}", "", False),
        ("", "static: [{to: 10.0.0.0/8, type: blackhole}]", True),
    ],
)
def test_the_right_tables_are_known_with_settings_that_bring_no_routes(
    ospf: str, more: str, is_known: bool
) -> None:
    lab, _ = planned(pair(ospf, more or "timeout: 60s"))
    assert (why_unforeseen(lab) is None) == is_known


def test_ends_that_do_not_agree_have_no_right_tables() -> None:
    text = pair("links: {a: {digest: {1: x}}}").replace("count: 2}", "count: 2}, q: OTHER")
    text = text.replace("[r-1, r-2], name: a", "[r-1, q], name: a")
    other = "{forwards: true, routing: {ospf: {links: {a: {digest: {1: y}}}}}}"
    lab, _ = planned(text.replace("OTHER", other))
    assert why_unforeseen(lab) == "the ends of link 'a' do not agree about OSPF"
    lab, _ = planned(text.replace("OTHER", "{forwards: true, routing: {by: bird}}"))
    assert why_unforeseen(lab) == (
        "FRR 8.4 and BIRD sign OSPF version 3 in ways that differ (link 'a')"
    )
