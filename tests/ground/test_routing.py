"""Routing daemons: what a file may say of them, the configuration they get, the right tables."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from ipaddress import ip_interface

import networkx as nx
import pytest

from delaylab.errors import BadInput
from delaylab.forwarding.expected import expected_tables
from delaylab.forwarding.judged import JudgedPrefixes
from delaylab.forwarding.tables import NextHop, Table, TableChange
from delaylab.forwarding.topology import End, Faults, parts
from delaylab.forwarding.verified import Verified
from delaylab.kinds import KINDS
from delaylab.lab.routing.ready import Converged
from delaylab.plan.build import build
from delaylab.plan.foreseen import why_unforeseen
from delaylab.plan.kind import Rights
from delaylab.plan.model import Plan, Route
from delaylab.plan.routed_topology import judged, topology
from delaylab.plan.ways.path import node_paths
from delaylab.plan.ways.probe_way import probe_way
from delaylab.resolve.lab import Lab
from delaylab.resolve.load import lab_from
from delaylab.routing import router
from delaylab.routing.adjacencies import changes
from delaylab.spec.source import parse
from delaylab_study.study_file.probe import ProbeSpec

SQUARE = """
lab: square
ip: [4, 6]
routing: {ospf: {hello: 1s, dead: 4s}}
nodes:
  r: {forwards: true, count: 4}
  h: {}
links:
  - {between: [r-1, r-2], name: a}
  - {between: [r-2, r-3], name: b}
  - {between: [r-3, r-4], name: c}
  - {between: [r-4, r-1], name: d}
  - {between: [h, r-1], name: edge, cost: 7}
"""


def planned(text: str) -> tuple[Lab, Plan]:
    lab = lab_from(parse(text, "lab.yaml"))
    return lab, build(lab, KINDS, Rights(root=True))


def config(text: str, node: str = "r-1") -> str:
    """Return the configuration of a router's daemons."""
    _, plan = planned(text)
    return next(iter(plan.daemons[node].files.values())).content


def both_ends(lab: Lab, link: str) -> set[End]:
    """Return the ends of a link, as faults name them."""
    return {(node, link) for node in lab.links[link].members}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("forwards: true, ", ""), "lab.yaml:4: `routing` is of routers, and no node of the lab"),
        (("ip: [4, 6]", "routes: shortest"), "lab.yaml:3: `routes: shortest` sets the routes"),
        (("h: {}", "h: {routing: ospf}"), "lab.yaml:7: 'h' has daemons and forwards no packets"),
        (("{hello: 1s, dead: 4s}", "{hello: 1s, dead: 1s}"), "`dead` (1s) has to be longer than"),
        (("dead: 4s", "dead: 4s, lsa_interval: 6s"), "`lsa_interval` is 5s at most, got 6s"),
        (("dead: 4s", "dead: 4s, spf_hold_most: 1ms"), "`spf_hold_most` (1ms) is shorter than"),
        (
            ("dead: 4s", "dead: 4s, spf_hold: 11min"),
            "a hold between computations of routes is 600s",
        ),
        (("{ospf: {hello: 1s, dead: 4s}}", "{isis: {lsp_interval: 3min}}"), "from 1s to 120s, got"),
        (("hello: 1s", "hello: 100ms"), "expected whole seconds from 1s to 65535s, got 100ms"),
        (("ospf: {hello: 1s, dead: 4s}", "by: bird"), "`routing` names no protocol"),
        (("{ospf: {hello: 1s, dead: 4s}}", "{isis: {}, by: bird}"), "BIRD has no ISIS"),
        (("dead: 4s", "dead: 4s, areas: {x: 1}"), "no link 'x' (links: a, b, c, d, edge)"),
        (("dead: 4s", "dead: 4s, area: 1, areas: {a: 2}"), "no router joins area 0.0.0.1 to the"),
        (("dead: 4s", "dead: 4s, area: x"), "expected an area such as 0 or 0.0.0.1, got 'x'"),
        (
            ("count: 4", "count: 4, routing: {router_id: 1.1.1.1}"),
            "both have the router ID 1.1.1.1",
        ),
        (("count: 4", "count: 4, kind: native"), "no network stack of its own for routing daemons"),
        (("{ospf: {hello: 1s, dead: 4s}}", "{bgp: {hold: 2s}}"), "`hold` (2s) has to be 3s at"),
        (("dead: 4s", "dead: 4s, prefix_suppression: true"), "FRR 8.4 has no `prefix_suppressi"),
        (("{hello: 1s, dead: 4s}", "{network: nbma}"), "network"),
        (
            ("{hello: 1s, dead: 4s}", "{network: non-broadcast}"),
            "no `network: non-broadcast` (take",
        ),
        (("{hello: 1s, dead: 4s}", "{poll: 500ms}"), "expected whole seconds from 1s to 65535s"),
        (
            ("{ospf: {hello: 1s, dead: 4s}}", "{ospf: {loopback: false}, bgp: {}}"),
            "that speak OSPF alone (leave",
        ),
        (("{ospf: {hello: 1s, dead: 4s}}", "rip"), "routing"),
    ],
)
def test_what_contradicts_is_refused_with_its_line(change: tuple[str, str], told: str) -> None:
    with pytest.raises(BadInput) as caught:
        planned(SQUARE.replace(*change))
    assert told in str(caught.value)
    assert "\n" not in str(caught.value).partition(" (")[0]


def test_routers_have_the_daemons_of_the_lab_and_their_own_differences() -> None:
    text = SQUARE.replace("h: {}", "s: {forwards: true, routing: {by: bird}}").replace("[h,", "[s,")
    lab, plan = planned(text)
    assert plan.nodes["r-1"].programs == ("zebra", "ospfd", "ospf6d")
    assert plan.nodes["s"].programs == ("bird",)
    assert "hello 1;" in config(text, "s")
    assert lab.nodes["r-1"].packages == ["frr"]  # type: ignore[attr-defined]
    assert lab.nodes["s"].packages == ["bird2"]  # type: ignore[attr-defined]
    without = text.replace("routing: {by: bird}", "routing: none")
    assert planned(without)[1].nodes["s"].programs == ()


def test_a_file_of_the_user_takes_the_place_of_the_configuration() -> None:
    own = "files: {/etc/frr/frr.conf: router ospf}"
    lab, plan = planned(SQUARE.replace("count: 4", f"count: 4, {own}"))
    assert "/etc/frr/frr.conf" not in plan.daemons["r-1"].files
    assert why_unforeseen(lab) == "its routers have configuration files of their own"


def test_the_configuration_says_what_the_links_are() -> None:
    text = SQUARE.replace(
        "  - {between: [h", "  - {join: [r-1, r-2, r-3], name: lan}\n  - {between: [h"
    )
    frr = config(text)
    assert (
        "interface edge\n ip ospf area 0.0.0.0\n ip ospf network point-to-point\n ip ospf cost 7"
        in frr
    )
    assert " passive-interface edge\n" in frr
    assert " passive-interface a\n" not in frr
    assert "interface lan\n ip ospf area 0.0.0.0\n ip ospf network broadcast\n" in frr
    _, plan = planned(text)
    assert f"ospf router-id {plan.nodes['r-1'].loopback(4)}" in frr
    nbma = config(text.replace("dead: 4s", "dead: 4s, nbma: [lan]"))
    there = plan.attachment("r-2", "lan").address
    assert f" neighbor {there}\n" in nbma
    assert "ip ospf network non-broadcast\n" in nbma
    bird = config(
        text.replace("{ospf", "{by: bird, ospf").replace("dead: 4s", "dead: 4s, nbma: [lan]")
    )
    assert f"{there} eligible;" in bird


def test_routers_set_no_routes_and_hosts_have_one_to_their_router() -> None:
    _, plan = planned(SQUARE)
    routes = [each for each in plan.operations if isinstance(each, Route)]
    assert {each.agent for each in routes} == {"node.h"}
    hops = {via for each in routes for via in each.via}
    assert hops == {str(each.ip) for each in plan.attachment("r-1", "edge").interfaces()}


def test_the_paths_of_a_probe_are_those_of_the_least_cost() -> None:
    lab, plan = planned(SQUARE)
    ways = {path.links for path in node_paths(plan, lab, "h", "r-3")}
    assert ways == {("edge", "a", "b"), ("edge", "d", "c")}


def test_the_right_tables_have_all_paths_of_the_least_cost() -> None:
    lab, plan = planned(SQUARE)
    tables = expected_tables(topology(lab, plan))
    far = str(ip_interface(plan.nodes["r-3"].loopbacks[0]).network)
    hops = {
        NextHop(link, plan.attachment(node, link).address)
        for node, link in (("r-2", "a"), ("r-4", "d"))
    }
    assert tables["r-1"][far] == hops
    cut = expected_tables(topology(lab, plan), Faults(down=both_ends(lab, "a")))
    assert {hop.device for hop in cut["r-1"][far]} == {"d"}
    on_a = str(ip_interface(plan.attachment("r-1", "a").addresses[0]).network)
    assert on_a not in cut["r-3"]
    silent = expected_tables(topology(lab, plan), Faults(silent=both_ends(lab, "a")))
    assert silent["r-1"][on_a] == {NextHop("a")}
    assert {hop.device for hop in silent["r-4"][on_a]} == {"d"}, "by the end that is nearer"
    stopped = expected_tables(topology(lab, plan), Faults(nodes={"r-2"}))
    assert "r-2" not in stopped
    assert on_a in stopped["r-1"]


@pytest.mark.parametrize("seed", range(5))
def test_the_right_tables_lead_over_the_paths_that_networkx_finds(seed: int) -> None:
    drawn = random.Random(seed)
    graph = nx.gnm_random_graph(12, 22, seed=seed)
    for one, other in graph.edges:
        graph.edges[one, other]["weight"] = drawn.randint(1, 4)
    links = [
        f"  - {{between: [n{one}, n{other}], name: l{one}-{other}, cost: {said['weight']}}}"
        for one, other, said in graph.edges(data=True)
    ]
    nodes = ", ".join(f"n{node}: {{forwards: true}}" for node in graph)
    text = "\n".join(["lab: random", "routing: ospf", f"nodes: {{{nodes}}}", "links:", *links])
    lab, plan = planned(text)
    tables = expected_tables(topology(lab, plan))
    lengths = dict(nx.all_pairs_dijkstra_path_length(graph))
    for start in graph:
        for end in graph:
            if start == end:
                continue
            prefix = plan.nodes[f"n{end}"].loopbacks[0]
            found = {hop.device for hop in tables[f"n{start}"].get(prefix, ())}
            wanted = {
                f"l{min(start, near)}-{max(start, near)}"
                for near in graph[start]
                if end in lengths[near]
                and graph.edges[start, near]["weight"] + lengths[near][end] == lengths[start][end]
            }
            assert found == wanted


def test_paths_within_an_area_come_before_shorter_ones_outside() -> None:
    """The square's far side is in area 1: its routers keep to it (RFC 2328, section 16)."""
    areas = "dead: 4s, areas: {b: 1, c: 1}"
    text = SQUARE.replace("dead: 4s", areas).replace("name: c}", "name: c, cost: 50}")
    lab, plan = planned(text)
    tables = expected_tables(topology(lab, plan))
    on_c = str(ip_interface(plan.attachment("r-4", "c").addresses[0]).network)
    assert {hop.device for hop in tables["r-2"][on_c]} == {"b"}
    assert {hop.device for hop in tables["r-1"][on_c]} == {"d"}
    assert why_unforeseen(lab) == "FRR's OSPFv3 takes other paths between areas than RFC 5340 says"


SUPPRESSED = SQUARE.replace("{ospf", "{by: bird, ospf").replace(
    "dead: 4s", "dead: 4s, prefix_suppression: true"
)


def test_networks_of_links_between_routers_are_not_announced_if_the_file_says_so() -> None:
    lab, plan = planned(SUPPRESSED)
    written = config(SUPPRESSED)
    for version in (4, 6):
        assert f"krt_prefsrc = {plan.nodes['r-1'].loopback(version)}; accept;" in written
    ends = [plan.attachment("r-1", link) for link in ("a", "d", "edge")]
    between, _, edge = ([str(ip_interface(each).network) for each in end.addresses] for end in ends)
    assert all(f"    stubnet {network} {{ hidden; }};" in written for network in between)
    assert not any(f"stubnet {network}" in written for network in edge), "a host is there"
    tables = expected_tables(topology(lab, plan))
    loopbacks = {each for node in tables for each in plan.nodes[node].loopbacks}
    assert all(network in tables["r-1"] for network in between), "the kernel has its own"
    assert not any(network in tables["r-3"] for network in between)
    assert loopbacks - set(plan.nodes["r-3"].loopbacks) < tables["r-3"].keys()
    assert set(edge) < tables["r-3"].keys()
    assert "hidden" not in config(SUPPRESSED.replace("prefix_suppression: true", "retransmit: 5s"))


def test_a_link_that_one_of_its_routers_announces_is_in_all_tables() -> None:
    one = SQUARE.replace(
        "r: {forwards: true, count: 4}",
        "r: {forwards: true, count: 3}\n"
        "  r-4: {forwards: true, routing: {by: bird, ospf: {prefix_suppression: true}}}",
    )
    lab, plan = planned(one)
    on_c = str(ip_interface(plan.attachment("r-4", "c").addresses[0]).network)
    assert on_c in expected_tables(topology(lab, plan))["r-1"]
    gone = expected_tables(topology(lab, plan), Faults(down={("r-4", "c"), ("r-3", "c")}))
    assert not any(
        str(ip_interface(text).ip) in prefix
        for text in plan.attachment("r-4", "c").addresses
        for prefix in gone["r-1"]
    ), "not even the address of a port without carrier"


def test_a_probe_to_an_address_that_is_not_announced_is_refused() -> None:
    lab, plan = planned(SUPPRESSED)

    def probed(sender: str, over: str | None) -> None:
        named = {"from": sender, "to": "r-3", "over": over}
        probe_way(plan, lab, ProbeSpec.model_validate(named))

    probed("h", None)
    probed("r-2", "b")
    with pytest.raises(BadInput, match="the address of 'r-3' on link 'b' is not announced"):
        probed("h", "b")
    back = ProbeSpec.model_validate({"from": "r-3", "to": "r-1", "over": "edge"})
    with pytest.raises(BadInput, match=r"'r-3' on link '[bc]' is not announced"):
        probe_way(plan, lab, back)


def test_bird_computes_routes_as_seldom_as_the_file_says() -> None:
    assert "  tick 1;\n" in config(SUPPRESSED)
    assert "  tick 3;\n" in config(SUPPRESSED.replace("dead: 4s", "dead: 4s, spf_hold: 2100ms"))


def test_routers_of_a_large_lab_print_no_events(monkeypatch: pytest.MonkeyPatch) -> None:
    text = SQUARE.replace("{ospf", "{by: bird, ospf")
    assert "debug { events };" in config(text)
    monkeypatch.setattr(router, "MANY", 4)
    assert "debug" not in config(text)


def test_bgp_has_an_as_number_for_each_router_and_needs_no_costs() -> None:
    text = SQUARE.replace("{ospf: {hello: 1s, dead: 4s}}", "bgp").replace(
        "name: a}", "name: a, cost: 9}"
    )
    lab, plan = planned(text)
    far = plan.nodes["r-2"].loopbacks[0]
    assert {hop.device for hop in expected_tables(topology(lab, plan))["r-1"][far]} == {"a"}
    numbers = {
        line
        for node in ("r-1", "r-2", "r-3")
        for line in config(text, node).splitlines()
        if line.startswith("router bgp")
    }
    assert len(numbers) == 3
    one = text.replace("count: 4", "count: 4, routing: {bgp: {as: 64512}}")
    assert "update-source lo" in config(one)
    assert why_unforeseen(planned(one)[0]) == "several routers have one AS number"


def test_what_differs_is_followed_change_by_change() -> None:
    right = {"r": {"10.0.0.0/8": frozenset({NextHop("a", "192.0.2.1")})}}
    wrong_hop = frozenset({NextHop("b", "192.0.2.9")})
    tables = {"r": {"10.0.0.0/8": wrong_hop, "fe80::/64": wrong_hop, "192.0.2.0/24": wrong_hop}}
    compared = JudgedPrefixes(["10.0.0.0/8", "192.0.2.0/24"], ignored=["192.0.2.0/24"])
    found = Verified(right, tables, compared)
    assert not found.is_right
    assert [str(each) for each in found.examples(3)] == [
        "r: 10.0.0.0/8: 192.0.2.9 dev b, not 192.0.2.1 dev a"
    ]
    assert found.take([TableChange(7, "r", "10.0.0.0/8", right["r"]["10.0.0.0/8"])]) == 7
    assert found.is_right
    extra = TableChange(8, "r", "10.1.0.0/16", wrong_hop)
    assert found.take([extra]) is None
    assert found.wrong == 1, "a route that nobody expects is wrong, too"
    gone, again = TableChange(9, "r", "10.1.0.0/16", None), TableChange(10, "r", "10.0.0.0/8", None)
    assert found.take([gone]) == 9
    assert found.take([gone, again]) is None
    assert found.wrong == 1
    cut: dict[str, Table] = {"r": {}}
    tables["r"] = {}
    found.expect(cut)
    assert found.is_right


def test_a_network_with_a_cut_has_routes_within_its_parts_and_says_so() -> None:
    whole = topology(*planned(SQUARE))
    assert parts(whole) == [frozenset({"r-1", "r-2", "r-3", "r-4"})]
    text = "\n".join(line for line in SQUARE.splitlines() if "name: b" not in line)
    lab, plan = planned("\n".join(line for line in text.splitlines() if "name: d" not in line))
    cut = topology(lab, plan)
    assert parts(cut) == [frozenset({"r-1", "r-2"}), frozenset({"r-3", "r-4"})]
    tables = expected_tables(cut)
    loopbacks = {node: plan.nodes[node].loopbacks[0] for node in tables}
    assert loopbacks["r-2"] in tables["r-1"]
    assert loopbacks["r-3"] not in tables["r-1"]
    line = Converged(4, 1.0, parts=(("r-1", "r-2"), ("r-3", "r-4"))).line()
    assert line.endswith("; no link joins the 2 parts of the network, one of them is r-3, r-4")
    many = Converged(6, 1.0, parts=(tuple("abcdef"), tuple("ghijk"))).line()
    assert many.endswith("one of them is g, h, i and 2 more")


def test_a_router_without_its_daemon_takes_no_part_and_stays_where_it_is() -> None:
    lab, plan = planned(SQUARE)
    tables = expected_tables(topology(lab, plan), Faults(mute={"r-2"}))
    assert "r-2" not in tables
    far = plan.nodes["r-3"].loopbacks[0]
    assert {hop.device for hop in tables["r-1"][far]} == {"d"}, "not over the router that is mute"
    on_a = str(ip_interface(plan.attachment("r-1", "a").addresses[0]).network)
    assert tables["r-1"][on_a] == {NextHop("a")}, "its carrier is there"
    assert plan.nodes["r-2"].loopbacks[0] not in tables["r-1"]


PRINTED = """\
2026/11/26 20:05:04.000000 OSPF: [X] Packet[DD]: Neighbor 1.2.3.5 Negotiation done (Master).
2026/11/26 20:05:06.613352 OSPF: [Y] AdjChg: Nbr 1.2.3.4 on wan:1.1.1.1: Full -> Deleted (Inact)
2026/11/26 20:05:14.655134 BGP: [P] %ADJCHANGE: neighbor 1.2.3.4(r-3) in vrf default Down BGP
2026/11/26 20:05:59.290063 ISIS: [Q] %ADJCHANGE: Adjacency to r-3 (wan) changed from Up to Down, x
2026-11-26 20:06:33.234 <TRACE> ospf4: Scheduling routing table calculation
2026-11-26 20:06:34.100 <TRACE> ospf4: Neighbor 1.2.3.4 on one changed state from Full to Down
2026-11-26 20:06:42.157 <TRACE> peer2: BGP session closed
no time AdjChg: Full -> Down
"""


def test_changes_of_adjacencies_are_read_from_what_daemons_print() -> None:
    found = [datetime.fromtimestamp(at // 10**9, UTC).strftime("%M:%S") for at in changes(PRINTED)]
    assert found == ["05:06", "05:14", "05:59", "06:34", "06:42"]
    parts = [at % 10**9 for at in changes(PRINTED)]
    assert (parts[0], parts[3]) == (613_352_000, 100_000_000)


def test_routes_to_what_is_no_address_of_the_lab_are_not_judged() -> None:
    lab, plan = planned(SQUARE)
    is_judged = judged(lab, plan)
    loopback = plan.nodes["r-3"].loopbacks[0]
    network = ip_interface(plan.attachment("r-1", "a").addresses[1]).network
    assert all(map(is_judged, (loopback, str(network), f"{network[7]}/128")))
    others = ("10.0.0.1/32", "0.0.0.0/0", "::/0", "198.18.0.0/15", "fe80::/64", "ff00::/8")
    assert not any(map(is_judged, others))
