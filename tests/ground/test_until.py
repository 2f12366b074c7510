"""The rule by which a lab has converged: which labs have right tables, and how long quiet is."""

from __future__ import annotations

import pytest

from delaylab.errors import BadInput
from delaylab.forwarding.until import SECOND_NS, Until
from delaylab.lab.routing.ready import Converged
from delaylab.plan.foreseen import (
    found_ns,
    noticed_ns,
    patience_ns,
    until_of,
    why_unforeseen,
)
from delaylab.plan.model import Route
from delaylab.resolve.lab import Lab
from delaylab.routing.harmless import changes_routes
from delaylab.spec.routing.expect import quiet_of
from tests.ground.test_routing import planned

RING = """
lab: ring
routing: {ospf: {hello: 1s, dead: 4s, lsa_interval: 100ms, retransmit: 2s}}
nodes:
  r: {forwards: true, count: 3}
  h: {}
links:
  - {between: [r-1, r-2], name: a}
  - {between: [r-2, r-3], name: b}
  - {between: [r-3, r-1], name: c}
  - {between: [h, r-1], name: edge}
"""
OWN = RING.replace("{ospf: {hello: 1s, dead: 4s, lsa_interval: 100ms, retransmit: 2s}}", "EXPECT")
IBGP = RING.replace("{ospf", "{bgp: {as: 65000}, ospf")


def lab(text: str) -> Lab:
    return planned(text)[0]


def expecting(what: str) -> str:
    return RING.replace("{ospf", f"{{expect: {what}, ospf")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (expecting("best"), "lab.yaml:3: expect: expected `shortest`, `quiet`, `quiet:5s` or"),
        (expecting('"quiet:5"'), "expected `quiet` or `quiet:5s`, got 'quiet:5'"),
        (expecting('"quiet:1ms"'), "a quiet time is 100ms to 1h, got 1ms"),
        (
            RING.replace("count: 3", "count: 3, routing: {expect: quiet}"),
            "lab.yaml:5: `expect` is of the whole lab, not of 'r' alone",
        ),
        (OWN.replace("EXPECT", "{expect: shortest}"), "lab.yaml:3: `expect: shortest` is of daemo"),
        (
            OWN.replace("EXPECT", "{expect: quiet}").replace("forwards: true, ", ""),
            "lab.yaml:3: `routing` is of routers, and no node of the lab is one",
        ),
        (OWN.replace("EXPECT", "{expect: quiet}\nroutes: shortest"), "`routes: shortest` sets the"),
        (OWN.replace("EXPECT", "{by: bird}"), "`routing` names no protocol"),
    ],
)
def test_what_a_lab_cannot_expect_is_refused_with_its_line(text: str, told: str) -> None:
    with pytest.raises(BadInput) as caught:
        planned(text)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_daemons_of_ones_own_have_routing_if_the_lab_expects_something_of_them() -> None:
    found, plan = planned(OWN.replace("EXPECT", "{expect: quiet}"))
    assert found.has_daemons
    assert found.routers == {}
    assert plan.daemons == {}
    routed = {each.agent for each in plan.operations if isinstance(each, Route)}
    assert routed == {"node.h"}, "routers get theirs by their daemons"
    assert until_of(found) == Until(5 * SECOND_NS, "its routers run daemons of their own")
    assert patience_ns(found) == 120 * SECOND_NS
    assert noticed_ns(found, ["silence"]) == 0, "their timers are not known"


def test_a_node_of_a_lab_that_expects_quiet_may_have_daemons_of_delaylab() -> None:
    text = OWN.replace("EXPECT", "{expect: quiet}")
    found, plan = planned(text.replace("count: 3", "count: 3, routing: ospf"))
    assert list(found.routers) == ["r-1", "r-2", "r-3"]
    assert {each.expect for each in found.routers.values()} == {None}
    assert plan.nodes["r-1"].programs == ("zebra", "ospfd")


@pytest.mark.parametrize(
    ("by", "added", "may"),
    [
        ("frr", "", False),
        ("frr", "log timestamp precision 3\n! ip route\nservice password-encryption\n", False),
        (
            "frr",
            "debug ospf event\nno debug ospf event\nline vty\n exec-timeout 0 0\nexit\n",
            False,
        ),
        ("frr", "interface a\n description uplink\nexit\n", False),
        ("frr", "interface a\n ip ospf cost 5\nexit\n", True),
        ("frr", "router ospf\n", True),
        ("frr", "log-adjacency-changes\nip route 10.0.0.0/8 Null0\n", True),
        ("bird", "# a comment\nlog stderr all;\ndebug protocols all;\n", False),
        ("bird", "protocol static { }\n", True),
    ],
)
def test_lines_about_logs_and_the_like_change_no_route(by: str, added: str, may: bool) -> None:
    assert changes_routes(added, "bird" if by == "bird" else "frr") is may


def test_added_lines_that_change_no_route_do_not_hide_what_is_right() -> None:
    log = RING.replace("{ospf", '{added: "log timestamp precision 3\\n", ospf')
    assert until_of(lab(log)) == Until()
    cost = RING.replace("{ospf", '{added: "interface a\\n ip ospf cost 5\\n", ospf')
    why = "`added` may change the routes"
    assert until_of(lab(cost)) == Until(7 * SECOND_NS, why)
    vouched = cost.replace("{added", "{expect: shortest, added")
    assert until_of(lab(vouched)) == Until()
    assert until_of(lab(vouched), "quiet:3s") == Until(3 * SECOND_NS), "the command comes first"


def test_what_the_lab_says_comes_before_what_is_known() -> None:
    assert until_of(lab(expecting("quiet"))).quiet_ns == 7 * SECOND_NS
    assert until_of(lab(expecting('"quiet:2s"'))) == Until(2 * SECOND_NS)
    assert until_of(lab(expecting("none"))).quiet_ns == 7 * SECOND_NS, "for `converge`"
    assert lab(expecting("quiet")).routers["r-1"].expect is None, "it is the whole lab's"


def test_ospf_with_bgp_of_one_as_has_the_tables_of_ospf() -> None:
    """The administrative distance of OSPF is 110, that of routes within an AS 200."""
    assert why_unforeseen(lab(IBGP)) is None
    several = "its routers speak several protocols"
    others = {
        "two AS numbers": IBGP.replace("{as: 65000}", "{}"),
        "a link without OSPF": IBGP.replace("name: a}", "name: a, ospf: false}"),
        "IPv6, whose tables FRR does not keep right": IBGP.replace(
            "routing", "ip: [4, 6]\nrouting"
        ),
        "BIRD": IBGP.replace("{bgp", "{by: bird, bgp"),
    }
    assert {name: why_unforeseen(lab(text)) for name, text in others.items()} == dict.fromkeys(
        others, several
    )


def test_quiet_counts_from_when_routers_had_to_notice() -> None:
    quick = lab(RING)
    assert found_ns(quick) == 3 * SECOND_NS, "a hello, sent again once"
    assert noticed_ns(quick, ["down"]) == 0, "they lose a carrier"
    assert noticed_ns(quick, ["down", "up"]) == found_ns(quick)
    assert noticed_ns(quick, ["silence"]) == 4 * SECOND_NS, "`dead`"
    lan = RING.replace("{between: [r-1, r-2], name: a}", "{join: [r-1, r-2], name: a}")
    assert found_ns(lab(lan)) == 6 * SECOND_NS, "they wait for one that speaks for the network"
    stub = RING.replace("{between: [h, r-1]", "{join: [h, r-1]")
    assert found_ns(lab(stub)) == 3 * SECOND_NS, "no other router is there"
    slow = lab(RING.replace("dead: 4s,", "dead: 4s, links: {a: {hello: 5s, dead: 20s}},"))
    assert found_ns(slow) == 7 * SECOND_NS, "a link has a `hello` of its own"
    assert noticed_ns(slow, ["silence"]) == 20 * SECOND_NS, "and its own `dead`"


def test_the_line_of_up_says_by_which_rule() -> None:
    line = Converged(3, 1.25, "`added` may change the routes", (), 5.0).line()
    assert "have been quiet for 5 s, and changed last 1.2 s after" in line
    assert line.endswith("; which are right is not known: `added` may change the routes")
    assert "still change" in Converged(3, 0.0, None, (), 5.0, is_quiet=False).line()
    assert "there are no routes" in Converged(3, 0.0, None, (), 5.0, no_route=True).line()


def test_a_quiet_time_is_read() -> None:
    assert quiet_of("quiet") is None
    found = quiet_of("quiet:500ms")
    assert found is not None
    assert found.ns == SECOND_NS // 2
    with pytest.raises(ValueError, match="expected `quiet` or `quiet:5s`, got 'right'"):
        quiet_of("right")
