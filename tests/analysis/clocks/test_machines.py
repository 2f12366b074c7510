"""Alignment of two machines by probes: known clocks are within the printed bound."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from delaylab.records.doubts import DoubtKind
from delaylab_study.analysis.claims.doubted import UNDERMINING
from delaylab_study.analysis.clocks.closure import closures
from delaylab_study.analysis.clocks.exchanges import SURE, Exchanges
from delaylab_study.analysis.clocks.fit import fit
from delaylab_study.analysis.doubts.clocks import TrialClocks, clock_doubts
from tests.analysis.clocks.machines import (
    LINK_NS,
    ONE,
    OTHER,
    Case,
    Clock,
    Network,
    aligned,
    case,
    exchanges,
    small_step,
)

THIRD = "realtime@third"
NOTHING = np.zeros(0, dtype=np.intp)
SPAN_NS = 2_000_000_000
QUIET = Network(30_000, 50_000, 2_000, 0.0)
CASES, PACKETS = 50, 20_000
"""A million packets, each with two stamps of the other clock."""
MORE_NS = 2_000
"""The most by which a bound is more than half of the least round trip."""


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    return [case(seed, PACKETS) for seed in range(CASES)]


@pytest.fixture(scope="module")
def small_steps() -> list[Case]:
    return [small_step(seed, PACKETS) for seed in range(CASES)]


def test_the_bound_holds_for_999_of_1000_stamps(cases: list[Case]) -> None:
    within = np.concatenate([each.within for each in cases])
    assert within.mean() >= 0.999, within.mean()
    # Packets that were under way while the clock was set have no stamp.
    assert all(len(each.off_ns) > 1.9 * 0.95 * PACKETS for each in cases)


def test_the_bound_is_half_of_the_least_round_trip_also_beside_a_step(cases: list[Case]) -> None:
    assert sum(bool(each.alignment.hops[0].fit.changes) for each in cases) > CASES / 3
    for each in cases:
        assert each.alignment.hops[0].probes > 100
        assert each.alignment.bound_ns(OTHER) <= each.least_ns / 2 + MORE_NS


def test_a_step_below_a_round_trip_leaves_no_stamp_out_of_the_bound(
    small_steps: list[Case],
) -> None:
    """One way of a third of the networks takes no time, so that errors are as large as can be."""
    within = np.concatenate([each.within for each in small_steps])
    assert within.mean() >= 0.999, within.mean()
    for each in small_steps:
        assert each.alignment.bound_ns(OTHER) <= each.least_ns / 2 + 2 * MORE_NS


def test_a_small_step_is_seen_by_what_both_ways_take_together() -> None:
    """Without that one line fits both sides of it, and leaves the bound."""
    clock = Clock(0, 20e-6, 60_000, SPAN_NS // 2)
    network = replace(QUIET, there_ns=0, back_ns=200_000)
    probes = exchanges(np.random.default_rng(9), clock, network, SPAN_NS)
    pair = probes.pair(OTHER)
    (hidden,) = fit(pair, NOTHING).parts
    before, after = fit(pair, NOTHING, least_ns=probes.least_ns).parts
    sent, true = probes.sent_ns, clock.shown(probes.sent_ns) - probes.sent_ns
    for part, holds in ((hidden, False), (before, True), (after, True)):
        inside = (sent >= part.start_ns) & (sent <= part.end_ns)
        off = part.line.base_ns + part.line.offset(sent[inside]) - true[inside]
        assert bool(np.abs(off).max() <= part.bound_ns + 1) == holds


def test_a_network_whose_directions_change_places_is_no_step_of_a_clock_for_sure() -> None:
    """It looks like one; the bound holds, and the change is said to be small."""
    probes = exchanges(np.random.default_rng(10), Clock(), QUIET, SPAN_NS)
    late = np.where(np.arange(len(probes)) >= len(probes) // 2, 20_000, 0)
    other = replace(probes, arrived_ns=probes.arrived_ns + late, left_ns=probes.left_ns + late)
    found = fit(other.pair(OTHER), NOTHING, least_ns=other.least_ns)
    assert [each.small for each in found.changes] == [True]
    for part in found.parts:
        ends = np.array([part.start_ns, part.end_ns])
        assert (np.abs(part.line.base_ns + part.line.offset(ends)) <= part.bound_ns).all()


def test_a_small_change_is_a_doubt_that_leaves_no_claim_open() -> None:
    small, large = (
        aligned(np.random.default_rng(12), Clock(0, 0, step, 10**9), QUIET, 2_000).alignment
        for step in (20_000, 10_000_000)
    )
    said = [
        clock_doubts([TrialClocks("one", alignment, [], {}, [], {})], [])
        for alignment in (small, large)
    ]
    ((slewed,), (stepped,)) = said
    assert slewed.kind == DoubtKind.CLOCK_SLEWED
    assert "changed once by less than the bound" in slewed.message
    assert stepped.kind == DoubtKind.CLOCK_STEP
    assert {slewed.kind, stepped.kind} & UNDERMINING == {DoubtKind.CLOCK_STEP}


def test_the_noisier_a_network_the_less_is_sure_of_its_round_trip() -> None:
    quiet, noisy = (
        exchanges(np.random.default_rng(11), Clock(), replace(QUIET, queue_ns=queue), SPAN_NS)
        for queue in (100.0, 10_000.0)
    )
    assert quiet.took_ns.min() - 500 < quiet.least_ns < 80_000
    # 80 µs is what both ways take without a queue.
    assert 60_000 < noisy.least_ns < 80_000
    few = replace(quiet, **{name: getattr(quiet, name)[: SURE - 1] for name in ARRAYS})
    assert few.least_ns == 0


def test_the_delay_of_a_link_does_not_widen_the_bound() -> None:
    found = aligned(np.random.default_rng(1), Clock(7, 30e-6), QUIET, 2_000)
    assert found.alignment.bound_ns(OTHER) < 45_000 < LINK_NS / 2
    assert found.within.all()


def test_a_comparison_that_ended_early_bounds_what_came_later() -> None:
    """Afterwards the lines that fit lead apart, and the bound is that at the last packet."""
    found = aligned(np.random.default_rng(8), Clock(0, 30e-6), QUIET, 20_000, compared=0.1)
    whole = aligned(np.random.default_rng(8), Clock(0, 30e-6), QUIET, 20_000)
    assert found.within.all()
    assert found.alignment.bound_ns(OTHER) > 3 * whole.alignment.bound_ns(OTHER)


def test_a_large_step_is_found() -> None:
    clock = Clock(0, 10e-6, 10_000_000, 1_000_000_000)
    found = aligned(np.random.default_rng(2), clock, QUIET, 2_000)
    (change,) = found.alignment.hops[0].fit.changes
    assert change.kind == "step"
    assert abs(change.size_ns - 10_000_000) < 2 * found.least_ns
    assert found.within.all()


def test_a_stated_symmetry_narrows_the_bound_and_is_named() -> None:
    clock = Clock(-5_000_000, 20e-6)
    plain = aligned(np.random.default_rng(3), clock, QUIET, 2_000)
    closer = aligned(np.random.default_rng(3), clock, QUIET, 2_000, symmetric_ns=25_000)
    assert closer.alignment.hops[0].symmetric_ns == 25_000
    assert closer.alignment.bound_ns(OTHER) < 16_000 < plain.alignment.bound_ns(OTHER)
    assert closer.within.all()


def test_a_symmetry_that_is_not_there_leaves_the_bound() -> None:
    """The directions differ by 20 µs; with 1 µs stated, some stamps are out of the bound."""
    wrong = aligned(np.random.default_rng(4), Clock(), QUIET, 2_000, symmetric_ns=1_000)
    (hop,) = wrong.alignment.hops
    assert hop.contradicted or not wrong.within.any()


def test_a_symmetry_that_no_line_fits_is_contradicted() -> None:
    """No probe was the fastest both ways, so that not both can take half of its round trip."""
    found = aligned(np.random.default_rng(5), Clock(), QUIET, 2_000, symmetric_ns=0)
    assert found.alignment.hops[0].contradicted
    assert found.within.all()


@given(
    seed=st.integers(0, 1000),
    offset=st.integers(-(10**15), 10**15),
    drift=st.floats(-30e-6, 30e-6),
)
def test_both_clocks_of_a_pair_can_be_the_reference(seed: int, offset: int, drift: float) -> None:
    probes = exchanges(np.random.default_rng(seed), Clock(offset, drift), QUIET, SPAN_NS)
    one, other = (fit(probes.pair(name), NOTHING) for name in (OTHER, ONE))
    (part,), (turned,) = one.parts, other.parts
    time = np.array([part.start_ns])
    back = turned.line.forward(part.line.forward(time))
    assert abs(int(back[0] - time[0])) <= part.bound_ns + turned.bound_ns


def three(wrong_ns: int = 0) -> list[Exchanges]:
    """Three machines a day apart; of the last comparison one clock is off by `wrong_ns`."""
    random = np.random.default_rng(6)
    far, third = Clock(86_400 * 10**9, 30e-6), Clock(-(10**9), -30e-6)
    first = exchanges(random, far, QUIET, SPAN_NS)
    second = replace(exchanges(random, third, QUIET, SPAN_NS), clock=THIRD)
    both = exchanges(random, Clock(), QUIET, SPAN_NS)
    last = replace(
        both,
        reference=OTHER,
        clock=THIRD,
        sent_ns=far.shown(both.sent_ns),
        back_ns=far.shown(both.back_ns),
        arrived_ns=third.shown(both.arrived_ns) + wrong_ns,
        left_ns=third.shown(both.left_ns) + wrong_ns,
    )
    return [first, second, last]


def test_three_machines_lead_back_to_where_they_began() -> None:
    (loop,) = closures(three())
    assert loop.clocks == (ONE, OTHER, THIRD)
    assert loop.closes
    assert loop.bound_ns < 3 * 45_000
    assert closures(three()[:2]) == []


def test_a_wrong_comparison_leaves_the_loop_open() -> None:
    (loop,) = closures(three(wrong_ns=500_000))
    assert not loop.closes
    assert abs(loop.left_ns) == pytest.approx(500_000, abs=loop.bound_ns)


def test_a_pair_that_was_pulled_apart_was_queued() -> None:
    probes = exchanges(np.random.default_rng(7), Clock(), replace(QUIET, queue_ns=1.0), SPAN_NS)
    assert probes.pure.all()
    arrived = probes.arrived_ns.copy()
    arrived[11] += 6_000
    pulled = replace(probes, arrived_ns=arrived, left_ns=arrived + 2_000)
    assert np.flatnonzero(~pulled.pure).tolist() == [10, 11]
    odd = replace(probes, **{name: getattr(probes, name)[1:] for name in ARRAYS})
    assert np.flatnonzero(~odd.pure).tolist() == [0]


ARRAYS = ("seq", "sent_ns", "arrived_ns", "left_ns", "back_ns")
