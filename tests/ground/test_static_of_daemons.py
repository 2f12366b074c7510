"""Static routes of a router's daemon, and the routes that they come before."""

from __future__ import annotations

import pytest

from delaylab.forwarding.static import with_static
from delaylab.forwarding.tables import DISCARD, NextHop, Table
from delaylab.forwarding.topology import StaticRoute
from delaylab.plan.foreseen import until_of, why_unforeseen
from delaylab.resolve.resolve import lab_from_data

TABLE: Table = {
    "10.0.0.0/24": frozenset({NextHop("a")}),
    "10.0.1.0/24": frozenset({NextHop("b")}),
    "10.1.0.0/16": frozenset({NextHop("a", "10.0.0.9")}),
    "10.2.0.0/16": frozenset({NextHop("a", "10.0.0.9"), NextHop("b", "10.0.1.9")}),
    "10.2.3.0/24": frozenset({NextHop("b", "10.0.1.9")}),
    "0.0.0.0/0": frozenset({NextHop("b", "10.0.1.1")}),
    "10.66.0.0/16": DISCARD,
    "fd00::/64": frozenset({NextHop("a")}),
}


@pytest.mark.parametrize(
    ("to", "via", "hops"),
    [
        # On a link of the router's own.
        ("192.0.2.0/24", "10.0.0.7", {NextHop("a", "10.0.0.7")}),
        ("2001:db8::/32", "fd00::7", {NextHop("a", "fd00::7")}),
        # Several links away, over the longest prefix.
        ("192.0.2.0/24", "10.2.9.9", {NextHop("a", "10.0.0.9"), NextHop("b", "10.0.1.9")}),
        ("192.0.2.0/24", "10.2.3.4", {NextHop("b", "10.0.1.9")}),
        # Before the route of a protocol, but not behind itself.
        ("10.1.0.0/16", "10.0.1.7", {NextHop("b", "10.0.1.7")}),
        ("10.1.0.0/16", "10.1.0.1", {NextHop("a", "10.0.0.9")}),
        # Not before a network of the router's own.
        ("10.0.0.0/24", "10.0.1.7", {NextHop("a")}),
        # Nothing leads there: a default route does not count, nor one that discards.
        ("192.0.2.0/24", "172.16.0.1", None),
        ("192.0.2.0/24", "10.66.0.1", None),
        ("192.0.2.0/24", None, DISCARD),
    ],
)
def test_a_static_route_takes_the_next_hops_to_its_own(
    to: str, via: str | None, hops: set[NextHop] | None
) -> None:
    found = with_static(TABLE, [StaticRoute(to, via)])
    assert found.get(to) == hops
    others = {prefix: kept for prefix, kept in found.items() if prefix != to}
    assert others == {prefix: kept for prefix, kept in TABLE.items() if prefix != to}


def test_a_next_hop_may_be_behind_another_static_route() -> None:
    routes = [
        StaticRoute("192.0.2.0/24", "198.51.100.1"),
        StaticRoute("198.51.100.0/24", "10.1.0.1"),
    ]
    for order in (routes, routes[::-1]):
        found = with_static(TABLE, order)
        assert found["192.0.2.0/24"] == found["198.51.100.0/24"] == TABLE["10.1.0.0/16"]
    circle = [
        StaticRoute("192.0.2.0/24", "198.51.100.1"),
        StaticRoute("198.51.100.0/24", "192.0.2.1"),
    ]
    assert with_static(TABLE, circle) == TABLE


def test_two_next_hops_are_taken_together() -> None:
    both = [StaticRoute("192.0.2.0/24", via) for via in ("10.0.0.7", "10.0.1.7")]
    hops = {NextHop("a", "10.0.0.7"), NextHop("b", "10.0.1.7")}
    assert with_static(TABLE, both)["192.0.2.0/24"] == hops


@pytest.mark.parametrize(("by", "known"), [("frr", True), ("bird", False)])
def test_tables_with_static_routes_are_known_of_frr(by: str, known: bool) -> None:
    static = [{"to": "192.0.2.0/24", "via": "r2"}]
    nodes = {
        "r1": {"forwards": True, "routing": {"by": by, "ospf": {}, "static": static}},
        "r2": {"forwards": True, "routing": {"by": by, "ospf": {}}},
    }
    lab = lab_from_data({"lab": "x", "nodes": nodes, "links": [{"between": ["r1", "r2"]}]})
    assert (why_unforeseen(lab) is None) == known
    assert (until_of(lab).quiet_ns is None) == known
