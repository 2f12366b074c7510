"""Outages of events: until when each pair of nodes was without service, whoever caused it."""

from __future__ import annotations

from delaylab.forwarding.detours import Detours
from delaylab.forwarding.during import During
from delaylab.forwarding.fates import Fates, Interval
from delaylab.forwarding.service import ServiceOutage, acted, carriers_lost_ns
from delaylab.forwarding.tables import Change, LinkChange, TableChange
from delaylab.forwarding.verified import TablesVerdict
from delaylab.verdicts.outcome import Outcome, Trouble, course, outcome
from delaylab.verdicts.states import states_of
from tests.analysis.test_convergence import CHAIN, MESH, TO, WIDE, via

OWNERS = {TO: "d"}


def cut(at_ns: int, *, up: bool = False) -> LinkChange:
    """A change of the carrier of the link between c and d, at c."""
    return LinkChange(at_ns, "c", "d", up=up, admin_up=True)


def test_an_outage_belongs_to_each_event_that_it_lasts_into() -> None:
    fates = Fates(CHAIN, MESH, [TO], pairs=True)
    fates.take([cut(10)])
    first = During(10, OWNERS).trouble(fates.intervals())
    assert first == [Interval(TO, "black hole", frozenset("c"), 10, None)]
    fates.take([cut(90, up=True)])
    (hole,) = During(50, OWNERS).trouble(fates.intervals())
    assert (hole.begin_ns, hole.end_ns) == (10, 90), "it ends after the second event"
    lost = During(50, OWNERS).trouble(fates.outages())
    assert {(each.source, each.begin_ns, each.end_ns) for each in lost} == {
        (source, 10, 90) for source in "abc"
    }
    assert During(91, OWNERS).trouble(fates.intervals()) == [], "what has ended is no later event's"
    assert During(91, OWNERS).trouble(fates.outages()) == []


def test_only_pairs_whose_packets_meet_the_hole_are_without_service() -> None:
    fates = Fates({**CHAIN, "a": {WIDE: via("d")}}, MESH, [TO], pairs=True)
    fates.take([cut(10), TableChange(20, "b", WIDE, via("d"))])
    assert sorted(
        (each.source, each.begin_ns or 0, each.end_ns or 0) for each in fates.outages()
    ) == [
        ("b", 10, 20),
        ("c", 10, 0),
    ]


def test_a_loop_is_no_service_either_and_a_state_of_its_routers() -> None:
    looping = {**CHAIN, "c": {WIDE: via("b")}}
    fates = Fates(looping, MESH, [TO], pairs=True)
    assert {each.source for each in fates.outages()} == {"a", "b", "c"}
    assert {each.begin_ns for each in fates.outages()} == {None}
    fates.take([TableChange(40, "c", WIDE, via("d"))])
    found = states_of([], fates.intervals(), 10, 100)
    assert {(each.router, each.begin_s, each.end_s) for each in found} == {
        ("b", 0.0, 3e-8),
        ("c", 0.0, 3e-8),
    }


def test_a_node_that_starts_is_without_service_from_its_start_on() -> None:
    """It was killed at 10 and started at 50; until 80 no route leads to it."""
    since_kill = [
        Interval(TO, "black hole", frozenset("c"), 10, 80),
        Interval("10.0.0.1", "black hole", frozenset("d"), 10, 70),
        Interval("10.0.0.1", "black hole", frozenset("b"), 20, None),
    ]
    owners = {**OWNERS, "10.0.0.1": "a"}
    killed = During(10, owners, off={"d"}).trouble(since_kill)
    assert killed == since_kill[2:], "nobody asks for what is of a dead node"
    started = During(50, owners, off_before={"d"}).trouble(since_kill)
    assert [each.begin_ns for each in started] == [50, 50, 20]


def test_packets_are_lost_from_the_order_on_and_not_from_the_carriers_fall() -> None:
    """The second fall of the same carrier is another event's."""
    changes: list[Change] = [cut(14), cut(30, up=True), cut(50)]
    moved = acted(changes, {("c", "d")}, 10)
    assert [each.at_ns for each in moved] == [10, 30, 50]
    assert acted(changes, set(), 10) == changes
    fates = Fates(CHAIN, MESH, [TO])
    fates.take(moved)
    assert fates.intervals()[0].begin_ns == 10
    assert carriers_lost_ns(changes[:2], {("c", "d")}, 10) == 14
    assert carriers_lost_ns([], {("c", "d")}, 10) is None


def test_an_outcome_has_the_trouble_that_it_is_given() -> None:
    before = Interval(TO, "black hole", frozenset("c"), 10, 90)
    lost = ServiceOutage("a", TO, 10, 90)
    seen = course(50, 100, "abcd", (), [], [before], Detours())
    found: Outcome = outcome(
        "up c-d", seen, [], Trouble([before], [lost], 52), TablesVerdict(90), None
    )
    assert found.holes == (before,)
    assert found.outages == (lost,)
    assert found.after_s(found.carriers_ns) == 2e-9
