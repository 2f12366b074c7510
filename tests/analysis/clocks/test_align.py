"""Alignment of known clocks: the true offset is within the printed bound."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from delaylab_study.analysis.clocks.check import checks
from delaylab_study.analysis.clocks.stations import Station
from delaylab_study.analysis.packets import rtt, segments
from delaylab_study.analysis.packets.table import Packets
from delaylab_study.analysis.statistics.quantiles import Floats
from delaylab_study.dataset.records.trial import ClockReading
from tests import synthetic
from tests.analysis.clocks.cases import (
    MACHINE,
    STATIONS,
    Aligned,
    aligned,
    packet_at,
    seeded,
    step_of,
    way,
)
from tests.synthetic import START, TRUE, Clock, Condition, constant, exponential

CASES = [200, pytest.param(1000, marks=[pytest.mark.slow, pytest.mark.timeout(1800)])]
GUEST = Clock("realtime@guest", 10**12, 80e-6)
FAR = Clock("realtime@far", -5 * 10**14, -120e-6)
WIRE = Station("request", "wire")
ENTRY, EXIT = ("request", "sender.vif"), ("reply", "sender.stack")


@pytest.fixture(scope="module", params=CASES)
def cases(request: pytest.FixtureRequest) -> list[Aligned]:
    return [aligned(seeded(seed)) for seed in range(request.param)]


def test_the_true_offset_is_within_the_bound_in_99_of_100_cases(cases: list[Aligned]) -> None:
    within = [case.within_bounds for case in cases]
    assert sum(within) >= 0.99 * len(cases)
    for case in cases:
        step = step_of(case.condition)
        if not case.within_bounds and step is not None:
            assert abs(step[1]) < 2 * case.alignment.bound_ns(MACHINE)
    without_step = [case.within_bounds for case in cases if step_of(case.condition) is None]
    assert all(without_step)


def test_every_case_is_aligned_and_its_bound_is_stated(cases: list[Aligned]) -> None:
    for case in cases:
        assert case.alignment.hops[0].fit.why == ""
        assert 0 < case.alignment.bound_ns(MACHINE) < 1_000_000
        assert any(series.null_count() < len(series) for series in case.errors.values())


def test_no_step_is_found_where_there_is_none(cases: list[Aligned]) -> None:
    for case in cases:
        if step_of(case.condition) is None:
            assert case.alignment.hops[0].fit.changes == []


def test_a_step_is_found_with_its_time_and_size(cases: list[Aligned]) -> None:
    """All that are well above the bound; what is below twice the bound can hide in it."""
    seen = 0
    for case in cases:
        step, fit = step_of(case.condition), case.alignment.hops[0].fit
        if step is None or abs(step[1]) < 4 * fit.bound_ns:
            continue
        assert len(fit.changes) == 1
        found = fit.changes[0]
        real = packet_at(case.condition, START + step[0])
        assert abs(packet_at(case.condition, found.time_ns) - real) <= 3
        assert abs(found.size_ns - step[1]) <= 2 * fit.bound_ns
        seen += 1
    assert seen > len(cases) / 3


def guest(seed: int, guest: Clock = GUEST, **more: object) -> Condition:
    delays = {ENTRY: exponential(20, 15), EXIT: exponential(30, 25)}
    settings = {"packets": 150, "at_rest": 20, "delays": delays} | more
    clocks = {"sender": guest}
    return Condition(kind="qemu", seed=seed, clocks=clocks, **settings)  # type: ignore[arg-type]


@settings(max_examples=30)
@given(
    seed=st.integers(0, 2**32 - 1),
    offset=st.integers(-(10**17), 10**17),
    drift=st.floats(-2e-4, 2e-4),
    far=st.booleans(),
    step=st.sampled_from([0, 10**6, -(10**9)]),
)
def test_segments_sum_exactly_with_two_and_three_clocks(
    seed: int, offset: int, drift: float, far: bool, step: int
) -> None:
    steps = ((500_000_000, step),) if step else ()
    condition = guest(seed, Clock("realtime@guest", offset, drift, steps))
    if far:
        condition.responder_points = ("responder.vif", "responder.stack", "responder.app")
        condition.clocks["responder"] = FAR
    path = way(condition)
    packets, alignment = segments.aligned(*synthetic.tables(condition), path, MACHINE)
    assert len(alignment.hops) == 1 + far
    answered = packets.complete(path)
    total = np.zeros(len(answered), dtype=np.int64)
    for part in segments.segments(answered, path):
        np.add.at(total, part.rows, part.delay_ns)
    user = answered.between(Station("request", "sender.app"), Station("reply", "sender.app"))
    assert user is not None
    assert total.tolist() == user.to_list()


def test_a_segment_carries_its_bound_where_two_clocks_meet_and_only_there() -> None:
    condition = guest(1)
    condition.responder_points = ("responder.vif", "responder.stack")
    condition.clocks["responder"] = FAR
    case = aligned(condition)
    near, far = (hop.fit.bound_ns for hop in case.alignment.hops)
    bounds = {
        (part.start, part.end): part.bound_ns
        for part in segments.segments(case.packets, way(condition))
    }
    assert bounds["sender.stack", "sender.vif"] == bounds["sender.vif", "sender.stack"] == near
    assert bounds["responder.vif", "responder.stack"] == pytest.approx(far)
    rest = {pair: off for pair, off in bounds.items() if _kernel(pair[0]) == _kernel(pair[1])}
    assert len(rest) >= 8
    assert set(rest.values()) == {0.0}
    assert case.within_bounds


def _kernel(point: str) -> str:
    side, _, name = point.partition(".")
    return side if name in ("app", "qdisc", "stack") else "machine"


def packets(condition: Condition) -> Packets:
    return segments.aligned(*synthetic.tables(condition), way(condition))[0]


def test_round_trips_of_another_clock_stay_as_they_were_stamped() -> None:
    condition = guest(2)
    found = rtt.round_trips(packets(condition))
    condition.clocks = {}
    true = rtt.round_trips(packets(condition))
    assert found["wire"].to_list() == true["wire"].to_list()
    assert found["vif"].to_list() == true["vif"].to_list()
    drifted = (found["app"] - true["app"] * (1 + GUEST.drift)).abs().max()
    assert float(str(drifted)) <= 1


@settings(max_examples=20)
@given(seed=st.integers(0, 2**32 - 1), drift=st.floats(-2e-4, 2e-4))
def test_no_packet_arrives_before_it_was_sent(seed: int, drift: float) -> None:
    condition = guest(seed, Clock("realtime@guest", 10**9, drift))
    for part in segments.segments(packets(condition), way(condition)):
        assert part.delay_ns.min() >= -3


def test_a_guest_that_drifts_too_fast_is_not_aligned() -> None:
    fit = aligned(guest(1, Clock("realtime@guest", 0, 0.0007))).alignment.hops[0].fit
    assert fit.parts == []
    assert fit.why.endswith("over 500 ppm")


def test_a_clock_that_runs_unevenly_is_not_aligned() -> None:
    steps = tuple((50_000_000 * k, 3_000_000 * (-1) ** k) for k in range(1, 19))
    fit = aligned(guest(1, Clock("realtime@guest", 0, 0, steps))).alignment.hops[0].fit
    assert fit.parts == []
    assert "unevenly" in fit.why


def test_too_few_packets_align_nothing() -> None:
    case = aligned(guest(1, packets=3, at_rest=0))
    assert case.alignment.hops[0].fit.why.startswith("only 3 packets")
    assert not case.alignment.knows(MACHINE)
    assert all(series.null_count() == 3 for series in case.errors.values())


def test_a_stamp_out_of_order_is_no_step() -> None:
    condition = guest(1)
    early = condition.delays[ENTRY]

    def once_before_its_time(random: np.random.Generator, n: int) -> Floats:
        delay = early(random, n)
        delay[90] = -400.0
        return delay

    condition.delays[ENTRY] = once_before_its_time
    fit = aligned(condition).alignment.hops[0].fit
    assert fit.changes == []
    assert fit.ignored >= 1
    assert len(fit.parts) == 1


def test_packets_that_fly_while_the_clock_is_set_are_left_out() -> None:
    condition = guest(3, Clock("realtime@guest", 0, 1e-5, ((500_000_000, 5_000_000),)))
    case = aligned(condition)
    lost = case.errors[WIRE].null_count()
    assert case.within_bounds
    assert lost <= 3
    assert case.packets.stations[WIRE].as_stamped.null_count() == 0


def test_least_squares_is_off_by_half_of_the_asymmetry_and_that_is_seen() -> None:
    even = {ENTRY: exponential(3, 100), EXIT: exponential(3, 100)}
    part = aligned(guest(1, delays=even)).alignment.hops[0].fit.parts[0]
    assert part.squares is not None
    assert part.squares.n == 40
    assert not part.disagree
    assert part.squares.line.drift_ppm == pytest.approx(80, abs=5)
    uneven = {ENTRY: constant(5), EXIT: exponential(300, 5)}
    part = aligned(guest(1, delays=uneven)).alignment.hops[0].fit.parts[0]
    assert part.disagree
    assert part.apart_ns is not None
    assert part.apart_ns > part.bound_ns


def readings(clock: Clock, error_ns: int = 0) -> list[ClockReading]:
    found = []
    for when in (-50_000_000, 0, 400_000_000, 900_000_000):
        shown = int(clock.show(np.array([START + when]))[0]) + error_ns
        first = START + when - 30_000
        found.append(
            ClockReading(
                clock=clock.name,
                reference=TRUE.name,
                before_ns=first,
                other_ns=shown,
                after_ns=first + 70_000,
            )
        )
    return found


@pytest.mark.parametrize(
    "clock", [GUEST, Clock("realtime@guest", 0, 0, ((300_000_000, -2_000_000),))]
)
def test_clocks_read_directly_agree_with_the_alignment(clock: Clock) -> None:
    alignment = aligned(guest(5, clock)).alignment
    (check,) = checks(alignment, readings(clock))
    assert (check.n, check.within_ns, check.agrees) == (4, 35_000, True)
    assert abs(check.error_ns) <= 5000 + alignment.bound_ns(MACHINE)


def test_a_reading_that_contradicts_the_alignment_is_told() -> None:
    (check,) = checks(aligned(guest(5)).alignment, readings(GUEST, 400_000))
    assert not check.agrees
    assert abs(check.error_ns) == pytest.approx(400_000, abs=100_000)


def test_a_clock_that_is_not_known_has_no_check() -> None:
    alignment = aligned(guest(5)).alignment
    assert checks(alignment, readings(Clock("realtime@other"))) == []


def test_one_clock_needs_no_alignment() -> None:
    condition = Condition(packets=20)
    found, alignment = segments.aligned(*synthetic.tables(condition), way(condition), MACHINE)
    assert alignment.hops == []
    assert [*found.stations] == STATIONS
    for stamps in found.stations.values():
        assert (stamps.own, stamps.bound_ns, stamps.tick_ns) == (None, None, None)
