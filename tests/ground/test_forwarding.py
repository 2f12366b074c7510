"""Forwarding tables, and where packets go by them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from delaylab.forwarding.tables import (
    DISCARD,
    Difference,
    Hops,
    NextHop,
    Table,
    TableChange,
    apply,
    differences,
)
from delaylab.forwarding.walks import Walk, Wiring, covering, loops_of, onward

TO = "198.18.0.9"
NET = "198.18.0.8/30"


def wiring(*links: tuple[str, str], hosts: tuple[str, ...] = ()) -> Wiring:
    """Return a wiring of links of two nodes; a device is named after the node at the other end.

    Node `a` has the address `10.0.0.1` and so on; `TO` is `d`'s.
    """
    nodes = sorted({node for link in links for node in link})
    ends = [*links, *((b, a) for a, b in links)]
    return Wiring(
        beyond={(a, b): {b: a} for a, b in ends},
        owners={**{address(node): node for node in nodes}, TO: "d"},
        routers=frozenset(nodes) - set(hosts),
    )


def address(node: str) -> str:
    return f"10.0.0.{ord(node) - ord('a') + 1}"


def via(*nodes: str) -> Hops:
    return frozenset(NextHop(node, address(node)) for node in nodes)


SQUARE = wiring(("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), ("b", "c"))
RIGHT: dict[str, Table] = {
    "a": {NET: via("b", "c")},
    "b": {NET: via("d")},
    "c": {NET: via("d")},
    "d": {NET: frozenset({NextHop("eth")})},
}


def test_equal_paths_lead_to_the_destination() -> None:
    found = onward(TO, RIGHT, SQUARE)
    assert found.holes == frozenset() == found.loops
    assert found.walk("a") == Walk(delivered=True, holes=frozenset(), loops=frozenset())
    assert found.walk("a").is_right
    assert found.reached("a") == {"a", "b", "c", "d"}


def test_a_node_without_a_route_is_a_black_hole_of_one_of_the_ways() -> None:
    walk = onward(TO, {**RIGHT, "c": {}}, SQUARE).walk("a")
    assert walk.delivered
    assert walk.holes == {"c"}
    assert not walk.is_right


def test_a_route_that_discards_is_a_hole_though_a_shorter_prefix_leads_on() -> None:
    tables = {**RIGHT, "b": {NET: DISCARD, "0.0.0.0/0": via("d")}}
    assert onward(TO, tables, SQUARE).walk("b").holes == {"b"}
    del tables["b"][NET]
    assert onward(TO, tables, SQUARE).walk("b").is_right


def test_two_nodes_that_send_to_each_other_are_a_loop() -> None:
    found = onward(TO, {**RIGHT, "b": {NET: via("c")}, "c": {NET: via("b")}}, SQUARE)
    assert found.loops == {frozenset({"b", "c"})}
    assert found.walk("a") == Walk(delivered=False, holes=frozenset(), loops=found.loops)
    assert found.walk("d").loops == frozenset()


def test_a_loop_with_a_way_out_is_a_loop_and_delivers() -> None:
    walk = onward(TO, {**RIGHT, "b": {NET: via("a", "d")}}, SQUARE).walk("a")
    assert walk.delivered
    assert walk.loops == {frozenset({"a", "b"})}


def test_a_next_hop_where_nobody_is_drops() -> None:
    nobody = frozenset({NextHop("b", "10.0.0.99"), NextHop("gone", address("b"))})
    bus = Wiring({("a", "b"): {"b": "a", "c": "a"}}, SQUARE.owners, SQUARE.routers)
    assert onward(TO, {"a": {NET: nobody}}, bus).walk("a") == Walk(
        delivered=False, holes=frozenset({"a"}), loops=frozenset()
    )


def test_a_gateway_by_an_unknown_address_is_the_other_node_of_a_link_of_two() -> None:
    local = frozenset({NextHop("b", "fe80::1")})
    assert onward(TO, {**RIGHT, "a": {NET: local}}, SQUARE).reached("a") == {"a", "b", "d"}


@pytest.mark.parametrize("end", [("b", "d"), ("d", "b")])
def test_an_end_that_is_down_neither_sends_nor_receives(end: tuple[str, str]) -> None:
    found = onward(TO, RIGHT, SQUARE, down={end})
    assert found.holes == {"b"}
    assert found.walk("a").delivered
    assert found.walk("c").is_right


def test_an_address_on_the_link_is_reached_there_and_nowhere_else() -> None:
    connected = frozenset({NextHop("d")})
    assert onward(TO, {**RIGHT, "b": {NET: connected}}, SQUARE).walk("b").is_right
    assert onward(TO, {**RIGHT, "a": {NET: frozenset({NextHop("b")})}}, SQUARE).walk("a").holes


def test_a_node_that_does_not_forward_drops_what_is_not_for_it() -> None:
    hosts = wiring(("a", "b"), ("b", "d"), hosts=("b",))
    found = onward(TO, {"a": {NET: via("b")}, "b": {NET: via("d")}, "d": {}}, hosts)
    assert found.walk("a") == Walk(delivered=False, holes=frozenset({"b"}), loops=frozenset())
    assert found.walk("b").delivered


def test_prefixes_that_cover_an_address_come_longest_first() -> None:
    prefixes = ["0.0.0.0/0", "198.18.0.0/15", "198.18.0.9/32", "198.18.0.0/30", "::/0"]
    assert covering(TO, prefixes) == ["198.18.0.9/32", "198.18.0.0/15", "0.0.0.0/0"]
    assert covering("fd00::1", prefixes) == ["::/0"]


def test_changes_make_one_table_of_another() -> None:
    tables = {node: dict(table) for node, table in RIGHT.items()}
    apply(tables, TableChange(1, "b", NET, None))
    apply(tables, TableChange(2, "e", NET, via("b")))
    assert differences(RIGHT, tables) == [Difference("b", NET, via("d"), None)]
    assert str(differences(RIGHT, tables)[0]) == f"b: {NET}: no route, not 10.0.0.4 dev d"
    apply(tables, TableChange(3, "b", NET, via("d")))
    assert differences(RIGHT, tables) == []
    assert differences(RIGHT, {}, ["10.0.0.0/8"]) == []
    assert len(differences(RIGHT, {}, [NET])) == len(RIGHT)


def test_next_hops_have_an_order() -> None:
    hops = [NextHop("b"), NextHop("a", "10.0.0.1"), NextHop("a")]
    assert sorted(hops) == [NextHop("a"), NextHop("a", "10.0.0.1"), NextHop("b")]


NODES = "abcdef"


@given(st.dictionaries(st.sampled_from(NODES), st.frozensets(st.sampled_from(NODES), max_size=3)))
def test_loops_are_the_nodes_that_can_come_back_to_each_other(
    graph: dict[str, frozenset[str]],
) -> None:
    def after(node: str) -> set[str]:
        seen: set[str] = set()
        left = [node]
        while left:
            fresh = graph.get(left.pop(), frozenset()) - seen
            seen |= fresh
            left += fresh
        return seen

    around = {node for node in graph if node in after(node)}
    parts = {
        frozenset({node, *(other for other in around & after(node) if node in after(other))})
        for node in around
    }
    assert loops_of(graph) == parts
