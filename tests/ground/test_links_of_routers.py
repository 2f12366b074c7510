"""Links on which routers speak a protocol, announce a network alone, or neither. Pure."""

from __future__ import annotations

import re
from ipaddress import ip_interface

import pytest

from delaylab.errors import BadInput
from delaylab.forwarding.expected import expected_tables
from delaylab.forwarding.tables import NextHop
from delaylab.forwarding.topology import NO_FAULTS, Faults
from delaylab.plan.foreseen import until_with, why_unforeseen
from delaylab.plan.routed_topology import topology
from delaylab.plan.ways.probe_way import probe_way
from delaylab.routing import costs
from delaylab_study.study_file.probe import ProbeSpec
from tests.ground.test_routing import SQUARE, both_ends, config, planned

PASSIVE = """
lab: passive
ip: [4, 6]
routing: {ospf: {}}
nodes: {r: {forwards: true, count: 3}}
links:
  - {between: [r-1, r-2], name: a}
  - {between: [r-2, r-3], name: b, ospf: {r-2: passive}}
  - {between: [r-1, r-3], name: c, ospf: false}
  - {between: [r-1, r-3], name: d, cost: 9}
  - join: [r-3]
    name: stub
    addresses: {r-3: [10.42.2.1/24, "2001:db8:2::1/64"]}
"""


@pytest.mark.parametrize("by", ["frr", "bird"])
def test_links_may_be_passive_or_not_spoken_on(by: str) -> None:
    lab, plan = planned(PASSIVE.replace("{ospf", f"{{by: {by}, ospf"))
    text = config(PASSIVE.replace("{ospf", f"{{by: {by}, ospf"), "r-3")
    if by == "frr":
        assert "interface c\nexit\n" in text
        assert " passive-interface b\n" in text, "nobody there hears it"
        assert text.count(" passive-interface ") == 2, "and on the stub"
    else:
        assert '"c"' not in text
        assert text.count("stub;") == 4
    table = expected_tables(topology(lab, plan))["r-2"]
    b, c = (str(ip_interface(plan.attachment("r-3", one).addresses[0]).network) for one in "bc")
    assert {hop.device for hop in table["10.42.2.0/24"]} == {"a"}, "b has no neighbours"
    assert {hop.device for hop in table["2001:db8:2::/64"]} == {"a"}
    assert table[b] == {NextHop("b")}
    assert c not in table
    assert expected_tables(topology(lab, plan))["r-1"][c] == {NextHop("c")}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("{r-2: passive}", "{r-1: passive}"), "lab.yaml:8: 'r-1' is not on this link"),
        (("{r-2: passive}", "quiet"), "ospf"),
        (("ip: [4, 6]", "ip: [4]"), "is IPv6, which the lab does not have"),
        (('"2001:db8:2::1/64"', "10.43.0.1/24"), "'r-3' has two addresses of IPv4 on this link"),
    ],
)
def test_what_a_link_cannot_be_is_refused(change: tuple[str, str], told: str) -> None:
    with pytest.raises(BadInput, match=re.escape(told)):
        planned(PASSIVE.replace(*change))


def test_no_hello_is_sent_where_the_others_speak_another_protocol() -> None:
    text = "lab: border\nnodes:\n  a: {forwards: true, routing: {ospf: {}, bgp: {as: 1}}}\n"
    text += "  b: {forwards: true, routing: {bgp: {as: 2}}}\n"
    text += "links: [{between: [a, b], name: e}]\n"
    assert " passive-interface e\n" in config(text, "a")
    assert "remote-as 2\n" in config(text, "a")


AREAS = """
lab: areas
routing: {by: BY, ospf: {areas: {a12: 1, a24: 1}}}
nodes: {r1: {forwards: true}, r2: {forwards: true}, r3: {forwards: true}, r4: {forwards: true}}
links:
  - {between: [r1, r2], name: a12, cost: 10}
  - {between: [r1, r3], name: b13}
  - {between: [r3, r2], name: b32}
  - {between: [r2, r4], name: a24}
"""


@pytest.mark.parametrize("by", ["frr", "bird"])
def test_the_right_tables_are_not_known_once_the_backbone_is_torn(by: str) -> None:
    lab, plan = planned(AREAS.replace("BY", by))
    network = topology(lab, plan)
    whole = [NO_FAULTS, Faults(down=both_ends(lab, "a12")), Faults(nodes={"r4"})]
    assert [until_with(lab, network, each).why for each in whole] == [None, None, None]
    torn = [
        Faults(down=both_ends(lab, "b13")),
        Faults(silent=both_ends(lab, "b32")),
        Faults(nodes={"r3"}),
    ]
    assert all("RFC 3509" in (until_with(lab, network, each).why or "") for each in torn)
    one_border = Faults(nodes={"r2"}, down=both_ends(lab, "b13"))
    assert until_with(lab, network, one_border).why is None, "r1 alone is of both areas"


def test_the_holds_that_decide_a_convergence_are_those_of_the_file() -> None:
    quick = PASSIVE.replace("ospf: {}", "isis: {lsp_interval: 1s, spf_interval: 2s}")
    assert "\n lsp-gen-interval 1\n spf-interval 2\n" in config(quick)
    assert "\n lsp-gen-interval 30\n spf-interval 1\n" in config(
        PASSIVE.replace("ospf: {}", "isis: {}")
    )
    assert "\n timers throttle spf 0 50 5000\n" in config(PASSIVE)
    fixed = config(PASSIVE.replace("ospf: {}", "ospf: {spf_hold: 200ms, spf_hold_most: 200ms}"))
    assert "\n timers throttle spf 0 200 200\n" in fixed


def test_links_of_a_lab_with_daemons_can_be_taken_down() -> None:
    """A lab without them, and one with the kernel's links, keep links without conditions."""
    lab, plan = planned(PASSIVE)
    assert sorted(plan.conditioned) == ["a", "b", "c", "d"], "nobody else is on `stub`"
    assert {each.state for each in lab.written.links if each.name != "stub"} == {"up"}
    _, kernel = planned(PASSIVE.replace("ip: [4, 6]", "ip: [4, 6]\nengine: kernel"))
    assert kernel.conditioned == []
    _, static = planned(PASSIVE.replace("routing: {ospf: {}}\n", ""))
    assert static.conditioned == []


COSTS = """
lab: costs
ip: [4, 6]
routing: {ospf: {}}
nodes: {r: {forwards: true, count: 3}, b: {forwards: true, routing: {by: bird}}}
links:
  - {between: [r-1, r-2], name: a, cost: {r-1: 10, r-2: 100}}
  - {between: [r-2, r-3], name: c}
  - {between: [r-3, r-1], name: d, cost: 20}
  - {join: [r-1, b], name: lan, cost: {b: 7}}
"""


def test_each_end_of_a_link_has_its_cost() -> None:
    lab, plan = planned(COSTS)
    assert "interface a\n ip ospf area 0.0.0.0\n ip ospf network point-to-point\n" in config(
        COSTS, "r-1"
    )
    assert " ip ospf cost 10\n" in config(COSTS, "r-1")
    assert " ip ospf cost 100\n" in config(COSTS, "r-2")
    assert "      cost 7;" in config(COSTS, "b")
    network = topology(lab, plan)
    tables = expected_tables(network)
    to_1, to_2 = (plan.nodes[node].loopbacks[0] for node in ("r-1", "r-2"))
    assert {hop.device for hop in tables["r-1"][to_2]} == {"a"}, "10, not 21"
    assert {hop.device for hop in tables["r-2"][to_1]} == {"c"}, "21, not 100"
    now = expected_tables(network, Faults(costs={("r-2", "a"): 1, ("r-1", "a"): 50}))
    assert {hop.device for hop in now["r-2"][to_1]} == {"a"}
    assert {hop.device for hop in now["r-1"][to_2]} == {"d"}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("cost: 20", "cost: 0"), "cost"),
        (("cost: 20", "cost: {r-3: 70000}"), "70000"),
        (("r-2: 100", "b: 100"), "lab.yaml:7: 'b' is not on this link"),
        (("routing: {ospf: {}}\n", ""), "`cost` of one end is for routing daemons, and delaylab"),
    ],
)
def test_what_a_cost_cannot_be_is_refused(change: tuple[str, str], told: str) -> None:
    text = COSTS.replace(*change).replace(", b: {forwards: true, routing: {by: bird}}", ", b: {}")
    with pytest.raises(BadInput) as caught:
        planned(text)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_daemons_are_told_a_cost_and_their_configuration_says_it_too() -> None:
    lab, _ = planned(COSTS)
    frr = costs.script(lab.routers["r-1"], (4, 6), "a", "a", 5)
    assert "s/^ ip ospf cost .*/ ip ospf cost 5/' /etc/frr/*.conf" in frr
    assert "-c 'interface a' -c 'ip ospf cost 5' -c 'ipv6 ospf6 cost 5'" in frr
    bird = costs.script(lab.routers["b"], (4,), "lan", "lan", 5)
    assert "s/^      cost .*;/      cost 5;/' /etc/bird/bird.conf" in bird
    assert costs.told("a 5\nlan 7\na 9\nhalf") == {"a": 9, "lan": 7}


def test_all_links_have_the_type_of_network_that_the_file_says() -> None:
    by_address = SQUARE.replace("dead: 4s", "dead: 4s, network: non-broadcast, poll: 6s")
    text = by_address.replace("ip: [4, 6]", "ip: [4]")
    lab, plan = planned(text)
    there = plan.attachment("r-2", "a").address
    frr = config(text)
    assert "interface a\n ip ospf area 0.0.0.0\n ip ospf network non-broadcast\n" in frr
    assert f" neighbor {there} poll-interval 6\n" in frr
    assert why_unforeseen(lab) is None
    bird = config(text.replace("{ospf", "{by: bird, ospf"))
    assert "type nbma;" in bird
    assert "poll 6;" in bird
    one = text.replace("poll: 6s", "links: {a: {network: point-to-point}}")
    assert config(one).count("network point-to-point") == 1
    assert "poll" not in config(one)
    own = "count: 3}\n  r-4: {forwards: true, routing: {ospf: {network: broadcast}}}"
    unlike, _ = planned(text.replace("count: 4}", own))
    assert why_unforeseen(unlike) == "the ends of link 'c' do not agree about OSPF"


@pytest.mark.parametrize("by", ["frr", "bird"])
def test_routers_have_no_loopbacks_if_the_file_says_so(by: str) -> None:
    text = SQUARE.replace("{ospf", f"{{by: {by}, ospf").replace("dead: 4s", "loopback: false")
    with pytest.raises(BadInput, match="'r' has a `loopback`, and OSPF's says that it has none"):
        planned(text.replace("count: 4", "count: 4, loopback: 10.0.0.1"))
    lab, plan = planned(text)
    assert why_unforeseen(lab) is None
    written = config(text)
    assert not any(plan.nodes[node].loopbacks for node in lab.routers)
    assert "interface lo\nexit\n" in written if by == "frr" else "stubnet" not in written
    tables = expected_tables(topology(lab, plan))
    assert len(tables["r-1"]) == 10, "five links in two versions of IP"
    there = [each.address for each in plan.nodes["r-3"].attachments]
    assert [each.address for each in plan.names if "r-3" in each.names][:1] == there[:1]
    assert (
        probe_way(plan, lab, ProbeSpec.model_validate({"from": "h", "to": "r-3"})).target in there
    )
