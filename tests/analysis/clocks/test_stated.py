"""Statements of time synchronisation beside the offset and the bound that probes give."""

from __future__ import annotations

import pytest

from delaylab_study.analysis.clocks.align import Alignment, ClockPair
from delaylab_study.analysis.clocks.fit import Fit, FitPart
from delaylab_study.analysis.clocks.line import ClockLine
from delaylab_study.analysis.clocks.stated import stated
from delaylab_study.analysis.doubts.clocks import TrialClocks
from delaylab_study.dataset.records.comparisons import ClockComparison, TimeSync
from delaylab_study.report.sections.clocks import columns, pair_json, pair_rows
from delaylab_study.report.value import Table
from delaylab_study.report.written import plain

START_NS = 1_800_000_000 * 10**9
ONE, OTHER = "realtime@one", "realtime@other"
PAIR = ClockComparison(machine="m1", other="m2", reference=ONE, clock=OTHER, sent=100)


def said(machine: str, bound_us: float | None) -> TimeSync:
    program = "ptp4l" if bound_us is None else "chrony"
    return TimeSync(
        machine=machine, program=program, source="192.0.2.9", offset_us=1.0, bound_us=bound_us
    )


def part(offset_ns: int, bound_ns: float) -> FitPart:
    line = ClockLine(START_NS, offset_ns, 0.0, 0.0)
    return FitPart(
        start_ns=START_NS,
        end_ns=START_NS + 10**9,
        line=line,
        bound_ns=bound_ns,
        residual_ns=None,
        squares=None,
        apart_ns=None,
        disagree=False,
    )


def trial(parts: list[FitPart], *time_sync: TimeSync) -> TrialClocks:
    hop = ClockPair(ONE, OTHER, Fit(OTHER, ONE, parts, []))
    alignment = Alignment(ONE, [hop], {}, {})
    found = stated([PAIR], time_sync)
    return TrialClocks("t", alignment, [], {ONE: "machine m1", OTHER: "machine m2"}, [], found)


def test_two_machines_that_follow_one_time_differ_by_the_sum_of_their_errors() -> None:
    (found,) = stated([PAIR], [said("m1", 300.0), said("m2", 112.0), said("m3", 5.0)]).values()
    assert found.bound_ns == 412_000
    assert [each.machine for each in found.by] == ["m1", "m2"]


def test_a_machine_that_states_no_bound_is_the_time_or_says_nothing() -> None:
    (found,) = stated([PAIR], [said("m1", None), said("m2", 112.0)]).values()
    assert found.bound_ns == 112_000
    assert not stated([PAIR], [said("m1", None), said("m3", 112.0)])


def shown_of(found: TrialClocks) -> list[str]:
    """The stated facts about a trial's clocks, on the page."""
    (hop,) = found.alignment.hops
    heads = [column.head for column in columns(stated=True)]
    at = heads.index("stated by time synchronisation")
    shown = Table(columns(stated=True), pair_rows("t", found, hop))
    return [plain(row[at][1].words) for row in shown.shown(shown.rows, "page")]


@pytest.mark.parametrize(
    ("offset_ns", "within"),
    [(122_000, True), (122_001, False), (-122_000, True), (-1 << 50, False)],
)
def test_an_offset_is_within_if_the_two_bounds_together_reach_it(
    offset_ns: int, within: bool
) -> None:
    found = trial([part(offset_ns, 10_000)], said("m2", 112.0))
    (hop,) = found.alignment.hops
    (text,) = shown_of(found)
    assert text.startswith("± 112 µs by chrony; offset ")
    assert text.endswith("within" if within else "outside")
    shown = pair_json(found, hop)["time_sync"]
    assert isinstance(shown, dict)
    assert shown["within"] is within
    assert shown["bound_us"] == 112.0


def test_every_stretch_between_steps_has_its_own_verdict() -> None:
    """chrony was asked before the trial: a step during it is not within what it stated."""
    found = trial([part(0, 10), part(10**9, 10)], said("m1", 50.0), said("m2", 50.0))
    (hop,) = found.alignment.hops
    assert [text.rpartition(" ")[2] for text in shown_of(found)] == ["within", "outside"]
    shown = pair_json(found, hop)["time_sync"]
    assert isinstance(shown, dict)
    assert shown["within"] is False


def test_nothing_stated_is_no_key_and_no_text() -> None:
    found = trial([part(0, 10)])
    (hop,) = found.alignment.hops
    assert shown_of(found) == ["nothing"]
    assert "time_sync" not in pair_json(found, hop)
