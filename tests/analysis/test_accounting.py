"""Every scheduled packet is accounted for at every point."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from delaylab_study.analysis.packets.accounting import (
    NOWHERE,
    ByLeg,
    PhaseAccount,
    account,
    by_phase,
)
from delaylab_study.dataset.records.trial import TrialRecord
from tests import stamped, synthetic
from tests.synthetic import Condition

STATIONS = Condition().stations()


@settings(max_examples=40, deadline=None)
@given(
    lost=st.dictionaries(st.integers(0, 39), st.sampled_from(STATIONS[:-1]), max_size=15),
    unseen=st.lists(st.tuples(st.integers(0, 39), st.sampled_from(STATIONS)), max_size=20),
)
def test_every_packet_is_seen_passed_or_lost_at_every_point(
    lost: dict[int, tuple[str, str]], unseen: list[tuple[int, tuple[str, str]]]
) -> None:
    condition = Condition(
        packets=40, lost_after=lost, unseen=[(seq, *station) for seq, station in unseen]
    )
    trial = TrialRecord.model_validate(synthetic.trial(condition, 0))
    packets = stamped.packets(*synthetic.tables(condition), trial.way)
    found = account(stamped.narrow(packets), [trial])
    assert found.scheduled == 40
    assert len(found.points) == len(STATIONS)
    assert all(p.seen + p.unseen + p.lost == 40 for p in found.points)
    assert sum(found.outcomes.values()) == 40
    assert sum(found.lost_after.values()) == found.points[-1].lost


def test_losses_are_named_by_the_last_point_that_saw_the_packet() -> None:
    condition = Condition(
        packets=40,
        lost_after={1: ("request", "wire"), 2: ("request", "wire"), 3: ("reply", "sender.vif")},
        unseen=[(5, *station) for station in STATIONS],
        absent={"responder.stack": "no socket"},
    )
    record = synthetic.trial(condition, 0) | {"responder_icmp": {"OutErrors": 2}}
    trial = TrialRecord.model_validate(record)
    packets = stamped.packets(*synthetic.tables(condition), trial.way)
    found = account(stamped.narrow(packets), [trial])
    assert found.lost_after == {NOWHERE: 1, "request wire": 2, "reply sender.vif": 1}
    assert found.absent == {"responder.stack": "no socket"}
    assert found.responder_dropped == 2


LOAD = 5
"""The first packet under load of `phases`."""


def phases(
    changes: dict[str, Any] | None = None, packets: pl.DataFrame | None = None, **condition: Any
) -> dict[str, PhaseAccount]:
    """The account of a trial with 5 packets before, 40 under load and 5 after, by phase."""
    truth = Condition(packets=40, at_rest=5, **condition)
    record = synthetic.trial(truth, 0) | {"repeats": []} | (changes or {})
    trial = TrialRecord.model_validate(record)
    if packets is None:
        packets = table(truth)
    return {phase.phase: phase for phase in by_phase([stamped.of_one_clock(trial, packets)])}


def table(truth: Condition) -> pl.DataFrame:
    trial = TrialRecord.model_validate(synthetic.trial(truth, 0))
    return stamped.packets(*synthetic.tables(truth), trial.way)


@pytest.mark.parametrize(
    ("last", "points", "expected"),
    [
        (("request", "sender.stack"), (), ByLeg(request=1)),
        # Nothing tells of what happens beyond the wire.
        (("request", "wire"), (), ByLeg(unknown=1)),
        (("reply", "wire"), (), ByLeg(reply=1)),
        (("request", "wire"), ("responder.vif", "responder.stack"), ByLeg(request=1)),
        (("request", "responder.stack"), ("responder.vif", "responder.stack"), ByLeg(reply=1)),
        (("request", "responder.vif"), ("responder.vif",), ByLeg(unknown=1)),
    ],
)
def test_a_lost_packet_is_counted_in_its_phase_on_its_leg(
    last: tuple[str, str], points: tuple[str, ...], expected: ByLeg
) -> None:
    found = phases(lost_after={LOAD: last}, responder_points=points)
    assert list(found) == ["before", "load", "after"]
    assert (found["load"].scheduled, found["load"].answered) == (40, 39)
    assert found["load"].lost == expected
    assert found["before"].lost.total == found["after"].lost.total == 0


def test_a_tap_that_dropped_stamps_proves_no_loss_before_it() -> None:
    taps = [{"point": "wire", "packets": 9, "dropped": 1}]
    found = phases({"taps": taps}, lost_after={LOAD: ("request", "sender.stack")})
    assert found["load"].lost == ByLeg(unknown=1)


def test_without_taps_the_leg_of_a_loss_is_unknown() -> None:
    truth = Condition(untapped=5, packets=10, lost_after={1: ("request", "wire")})
    points = ("sender.vif", "sender.uplink", "wire")
    taps = [{"point": point, "packets": 9, "dropped": 0} for point in points]
    trial = TrialRecord.model_validate(synthetic.trial(truth, 0) | {"taps": taps})
    (untapped, load) = by_phase([stamped.of_one_clock(trial, table(truth))])
    assert (untapped.phase, untapped.lost) == ("untapped", ByLeg(unknown=1))
    assert (load.phase, load.lost) == ("load", ByLeg())


def test_outcomes_that_are_no_loss_are_counted_apart() -> None:
    outcomes = ["late"] * 2 + ["refused"] * 3 + ["unsent"] * 4
    given = table(Condition(packets=40, at_rest=5))
    rows = pl.Series(["replied"] * LOAD + outcomes + ["replied"] * (50 - LOAD - len(outcomes)))
    found = phases(packets=given.with_columns(rows.alias("outcome")))["load"]
    assert (found.scheduled, found.sent, found.answered) == (40, 33, 31)
    assert (found.late, found.refused, found.unsent, found.lost) == (2, 3, 4, ByLeg())


def repeats(**counts: int) -> list[dict[str, Any]]:
    """Repeats that taps saw under load; `request_wire=4` are 4 requests at the wire."""
    parts = {name: name.partition("_") for name in counts}
    return [
        {"phase": "load", "leg": leg, "point": point.replace("_", "."), "packets": counts[name]}
        for name, (leg, _, point) in parts.items()
    ]


@pytest.mark.parametrize(
    ("seen", "further", "expected"),
    [
        ({}, 0, ByLeg()),
        # Four requests were copied, and each copy was answered.
        ({"request_wire": 4, "reply_wire": 4, "reply_sender_vif": 4}, 4, ByLeg(request=4)),
        # One of the further answers was lost on its way.
        ({"request_wire": 4, "reply_wire": 4, "reply_sender_vif": 3}, 3, ByLeg(request=4)),
        ({"reply_sender_vif": 3}, 3, ByLeg(reply=3)),
        ({"request_wire": 4, "reply_wire": 4, "reply_sender_vif": 6}, 6, ByLeg(4, 2)),
        # Copies of replies that were made before the first tap on their way.
        ({"request_wire": 1, "reply_wire": 6, "reply_sender_vif": 6}, 6, ByLeg(1, 5)),
        ({}, 2, ByLeg(reply=2)),
    ],
)
def test_copies_are_counted_on_the_leg_on_which_they_were_made(
    seen: dict[str, int], further: int, expected: ByLeg
) -> None:
    taps = [{"point": p, "packets": 9, "dropped": 0} for p in ("sender.vif", "wire")]
    assert (
        phases({"taps": taps, "repeats": repeats(**seen)}, packets=with_duplicates(further))[
            "load"
        ].duplicated
        == expected
    )


@pytest.mark.parametrize("changes", [{"repeats": None}, {"taps": []}])
def test_without_the_taps_counts_nothing_tells_where_copies_were_made(
    changes: dict[str, Any],
) -> None:
    found = phases(changes, packets=with_duplicates(3))
    assert found["load"].duplicated == ByLeg(unknown=3)


def with_duplicates(further: int) -> pl.DataFrame:
    given = table(Condition(packets=40, at_rest=5))
    counts = [0] * LOAD + [further] + [0] * (49 - LOAD)
    return given.with_columns(pl.Series("duplicates", counts, dtype=pl.UInt16))


def delayed(leg: str, from_point: int, ms: int) -> pl.DataFrame:
    """A table whose sixth packet under load is late by so many ms from a point of a leg on."""
    given = table(Condition(packets=40, at_rest=5))
    held = pl.int_range(pl.len()) == LOAD + 5
    names = [f"{a} {b}" for a, b in STATIONS]
    first = next(i for i, (a, _) in enumerate(STATIONS) if a == leg) + from_point
    late = pl.col(names[first:]) + pl.when(held).then(ms * 1_000_000).otherwise(0)
    return given.with_columns(late)


def test_a_packet_that_others_overtake_is_reordered_on_that_leg() -> None:
    """Packets leave every 5 ms: one that is 12 ms late is overtaken, however many pass it."""
    assert phases(packets=delayed("request", 3, 12))["load"].reordered == ByLeg(request=1)
    assert phases(packets=delayed("reply", 2, 12))["load"].reordered == ByLeg(reply=1)
    assert phases(packets=delayed("reply", 2, 2))["load"].reordered == ByLeg()


def test_reordering_that_only_the_sender_noticed_is_on_an_unknown_leg() -> None:
    given = table(Condition(packets=40, at_rest=5))
    flags = pl.Series("reordered", [False] * LOAD + [True] * 2 + [False] * (48 - LOAD))
    assert phases(packets=given.with_columns(flags))["load"].reordered == ByLeg(unknown=2)


def test_trials_are_added_up_each_by_itself() -> None:
    """Sequence numbers and times of two trials are not compared with each other."""
    trial = TrialRecord.model_validate(synthetic.trial(Condition(packets=40, at_rest=5), 0))
    given = stamped.of_one_clock(trial, delayed("request", 3, 12))
    accounts = by_phase([given, given])
    assert [phase.phase for phase in accounts] == ["before", "load", "after"]
    assert (accounts[1].scheduled, accounts[1].reordered.request) == (80, 2)
