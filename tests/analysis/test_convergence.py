"""Black holes, micro-loops and times of changes, from tables and what changes in them."""

from __future__ import annotations

import random
import time

from hypothesis import given, settings
from hypothesis import strategies as st

from delaylab.forwarding.fates import Fates, Interval
from delaylab.forwarding.tables import (
    DISCARD,
    Change,
    Hops,
    LinkChange,
    Lost,
    NextHop,
    Table,
    TableChange,
    apply,
)
from delaylab.forwarding.walks import End, Wiring, onward
from delaylab.verdicts.effects import ChangeSpan, effects

NODES = "abcd"
TO = "10.0.0.4"
WIDE, NARROW = "10.0.0.0/16", "10.0.0.4/32"


def address(node: str) -> str:
    return f"10.0.0.{NODES.index(node) + 1}"


def mesh(nodes: str) -> Wiring:
    """Return links between all nodes; a device is named after the node at the other end."""
    ends = [(one, other) for one in nodes for other in nodes if one != other]
    return Wiring(
        beyond={(one, other): {other: one} for one, other in ends},
        owners={address(node): node for node in nodes},
        routers=frozenset(nodes),
    )


def via(*nodes: str) -> Hops:
    return frozenset(NextHop(node, address(node)) for node in nodes)


MESH = mesh(NODES)
CHAIN: dict[str, Table] = {
    "a": {WIDE: via("b")},
    "b": {WIDE: via("c")},
    "c": {WIDE: via("d")},
    "d": {},
}


def ended(fates: Fates) -> list[tuple[str, str, int | None, int | None]]:
    return [
        (each.kind, "".join(sorted(each.nodes)), each.begin_ns, each.end_ns)
        for each in fates.intervals()
    ]


def test_a_hole_lasts_from_one_change_to_another() -> None:
    fates = Fates(CHAIN, MESH, [TO])
    assert fates.intervals() == []
    fates.take([TableChange(10, "b", WIDE, None), TableChange(15, "b", WIDE, via("c"))])
    assert fates.intervals() == [Interval(TO, "black hole", frozenset("b"), 10, 15)]
    assert fates.intervals()[0].length_ns == 5
    fates.take([TableChange(20, "c", WIDE, DISCARD)])
    assert ended(fates)[1] == ("black hole", "c", 20, None)
    assert fates.intervals()[1].length_ns is None


def test_a_loop_lasts_until_one_of_its_routers_sends_elsewhere() -> None:
    fates = Fates(CHAIN, MESH, [TO])
    turned = TableChange(10, "c", NARROW, via("b"))
    back = [TableChange(30, "b", WIDE, via("d")), TableChange(40, "c", NARROW, None)]
    fates.take([turned, *back])
    assert ended(fates) == [("loop", "bc", 10, 30)]


def test_what_was_so_at_the_start_has_no_beginning() -> None:
    fates = Fates({**CHAIN, "a": {}}, MESH, [TO])
    fates.take([TableChange(5, "a", WIDE, via("b"))])
    assert ended(fates) == [("black hole", "a", None, 5)]


def test_changes_of_one_time_are_one() -> None:
    fates = Fates(CHAIN, MESH, [TO])
    fates.take([TableChange(5, "b", WIDE, None), TableChange(5, "b", NARROW, via("d"))])
    assert fates.intervals() == []


def test_a_route_over_a_link_that_is_cut_is_a_hole_until_it_changes() -> None:
    for end in (("c", "d"), ("d", "c")):
        fates = Fates(CHAIN, MESH, [TO])
        cut = LinkChange(10, *end, up=False, admin_up=True)
        around = [TableChange(60, "c", WIDE, via("a")), TableChange(70, "a", WIDE, via("d"))]
        fates.take([cut, *around])
        assert ended(fates) == [("black hole", "c", 10, 60), ("loop", "abc", 60, 70)]
        whole = LinkChange(80, *end, up=True, admin_up=True)
        fates.take([whole, TableChange(90, "c", WIDE, via("d"))])
        assert len(fates.intervals()) == 2


def test_times_of_tables_that_were_read_again_are_marked() -> None:
    fates = Fates(CHAIN, MESH, [TO])
    fates.take([TableChange(5, "b", WIDE, None)])
    fates.take([Lost(9, "b"), TableChange(9, "b", WIDE, via("c"))])
    (interval,) = fates.intervals()
    assert not interval.is_exact


def test_only_addresses_that_a_prefix_covers_are_concerned() -> None:
    fates = Fates(CHAIN, MESH, [TO, address("a")])
    before = fates.intervals()
    fates.take([TableChange(5, "b", "10.9.0.0/16", None), TableChange(6, "b", "::/0", DISCARD)])
    assert fates.intervals() == before


hops = st.frozensets(st.sampled_from(NODES), max_size=2).map(lambda nodes: via(*sorted(nodes)))
routed = st.builds(
    TableChange,
    at_ns=st.just(0),
    node=st.sampled_from(NODES),
    prefix=st.sampled_from([WIDE, NARROW, "0.0.0.0/0"]),
    hops=st.none() | hops,
)
cut = st.builds(
    LinkChange,
    at_ns=st.just(0),
    node=st.sampled_from(NODES),
    device=st.sampled_from(NODES),
    up=st.booleans(),
    admin_up=st.just(True),
)


@given(st.lists(st.lists(routed | cut, max_size=3), max_size=8))
@settings(max_examples=200, deadline=None)
def test_following_changes_is_the_same_as_looking_at_all_tables(
    batches: list[list[Change]],
) -> None:
    wiring = mesh(NODES)
    tables = {node: dict(table) for node, table in CHAIN.items()}
    fates, down = Fates(tables, wiring, [TO]), set[End]()
    for changes in batches:
        for change in changes:
            if isinstance(change, TableChange):
                apply(tables, change)
            elif isinstance(change, LinkChange):
                end = change.node, change.device
                (down.discard if change.up else down.add)(end)
        fates.take(changes)
        found = onward(TO, tables, wiring, down)
        states = {
            *(("black hole", frozenset({node})) for node in found.holes),
            *(("loop", loop) for loop in found.loops),
        }
        assert {(it.kind, it.nodes) for it in fates.intervals() if it.end_ns is None} == states
    assert fates.tables == tables


def test_each_event_has_the_changes_until_the_next_one() -> None:
    changes: list[Change] = [
        TableChange(5, "a", WIDE, None),
        LinkChange(100, "b", "c", up=False, admin_up=True),
        TableChange(110, "b", WIDE, None),
        TableChange(130, "a", WIDE, None),
        TableChange(170, "b", WIDE, via("d")),
        Lost(180, "c"),
        TableChange(205, "c", WIDE, None),
    ]
    first, second, third = effects(changes, [100, 200, 300])
    assert first.changes == ChangeSpan(110, 170, 3)
    assert (first.first_after_ns, first.last_after_ns) == (10, 70)
    assert first.routers == {"b": ChangeSpan(110, 170, 2), "a": ChangeSpan(130, 130, 1)}
    assert first.timelines["b"] == [110, 170]
    assert first.lost == {"c"}
    assert second.last_after_ns == 5
    assert third.changes is None
    assert third.first_after_ns is third.last_after_ns is None


def test_changes_of_an_internet_provider_s_network_are_followed_quickly() -> None:
    """87 routers, 248 prefixes and 20,000 changes: about a second of one CPU."""
    drawn = random.Random(1755)
    nodes = [f"r{number}" for number in range(87)]
    near = {node: drawn.sample([other for other in nodes if other != node], 4) for node in nodes}
    prefixes = [f"10.1.{number}.0/24" for number in range(248)]
    homes = {f"10.1.{number}.1": drawn.choice(nodes) for number in range(248)}
    own = {f"10.0.0.{number + 1}": node for number, node in enumerate(nodes)}
    names = {node: text for text, node in own.items()}
    wiring = Wiring(
        beyond={(node, other): {other: node} for node in nodes for other in nodes if node != other},
        owners={**homes, **own},
        routers=frozenset(nodes),
    )

    def drawn_hops(node: str) -> Hops:
        return frozenset({NextHop(other, names[other]) for other in drawn.sample(near[node], 1)})

    tables = {node: {prefix: drawn_hops(node) for prefix in prefixes} for node in nodes}
    changes = []
    for at_ns in range(20_000):
        node = drawn.choice(nodes)
        changes.append(TableChange(at_ns, node, drawn.choice(prefixes), drawn_hops(node)))
    began_s = time.process_time()
    fates = Fates(tables, wiring, homes)
    fates.take(changes)
    took_s = time.process_time() - began_s
    assert len(fates.intervals()) > 1000
    assert took_s < 15, "some ten times what it takes"
