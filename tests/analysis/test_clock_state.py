"""What alignment leaves open is said: refused delays, doubts with remedies, JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from delaylab_study.analysis.analyse import groups
from delaylab_study.analysis.group import Group
from delaylab_study.charts import words
from delaylab_study.dataset.store import read_study
from delaylab_study.report.show import as_json
from tests import synthetic
from tests.grouped import of_packets
from tests.plain import plain as as_script
from tests.synthetic import START, Clock, Condition, constant, exponential

ENTRY, EXIT = ("request", "sender.vif"), ("reply", "sender.stack")
GUEST = Clock("realtime@guest", 10**12, 80e-6)


def condition(clock: Clock = GUEST, entry_us: float = 40, **more: Any) -> Condition:
    """A guest whose way in takes `entry_us`, its way out 40 µs, at the least."""
    delays = {ENTRY: exponential(3, entry_us), EXIT: exponential(3, 40)}
    given: dict[str, Any] = {"packets": 150, "at_rest": 20, "delays": delays, **more}
    return Condition(kind="qemu", clocks={"sender": clock}, **given)


def group(place: Path, *conditions: Condition) -> Group:
    (found,) = groups(read_study(synthetic.write(place, list(conditions))))
    return found


def kinds(found: Group) -> dict[str, str]:
    return {doubt.kind: doubt.message for doubt in found.doubts if doubt.kind.startswith("clock")}


def unsure() -> Condition:
    """A guest with a fast way in and a busy way out: few packets say how far back its clock is."""
    return condition(packets=30, at_rest=0, delays={ENTRY: constant(1), EXIT: exponential(400, 5)})


def test_a_one_way_median_below_its_bound_is_refused_with_the_reason(tmp_path: Path) -> None:
    found = group(tmp_path, unsure())
    entry = next(part for part in found.segments if part.start == "sender.stack")
    assert entry.delay.median.value is None
    assert "two clocks" in entry.delay.median.why
    # The true median is 1 µs; what is told of it must not be less.
    assert entry.delay.median.at_most is not None
    assert 1 < entry.delay.median.at_most < 2 * entry.bound_us
    assert words.quantile(entry.delay.median).startswith("≤ ")
    assert "virtual interface" in kinds(found)["clock-bound"]


def test_the_true_delay_lies_within_the_bound_of_what_is_given(tmp_path: Path) -> None:
    found = group(tmp_path, condition(entry_us=1))
    entry = next(part for part in found.segments if part.start == "sender.stack")
    assert entry.delay.median.value is not None
    assert abs(entry.delay.median.value - (1 + 3 * np.log(2))) < entry.bound_us


def test_a_delay_well_above_its_bound_is_given(tmp_path: Path) -> None:
    slow = {ENTRY: exponential(900, 40), EXIT: exponential(3, 40)}
    found = group(tmp_path, condition(delays=slow))
    entry = next(part for part in found.segments if part.start == "sender.stack")
    assert entry.delay.median.value == pytest.approx(40 + 900 * np.log(2), rel=0.25)
    assert entry.bound_us == pytest.approx(42, abs=10)
    assert of_packets(found).one_way["sending"].median.value is not None


def test_a_clock_not_aligned_leaves_round_trips_and_says_so(tmp_path: Path) -> None:
    found = group(tmp_path, condition(Clock("realtime@guest", 0, 0.002)))
    assert "one-way" in kinds(found)["clock-unaligned"]
    assert found.rtt["wire"].n == found.rtt["app"].n == 150
    assert found.deltas["ΔKern"].median.value is not None
    assert "sending" not in of_packets(found).one_way
    at_wire = of_packets(found).account.points[5]
    assert (at_wire.point, at_wire.seen) == ("wire", 190)


def test_a_step_is_told_with_its_time_and_size(tmp_path: Path) -> None:
    found = group(tmp_path, condition(Clock("realtime@guest", 0, 0, ((500_000_000, 7_000_000),))))
    message = kinds(found)["clock-step"]
    size = float(message.partition(" by ")[2].partition(" µs")[0])
    assert abs(size) == pytest.approx(7000, abs=60)
    assert f"{START / 1e9 + 0.5:.1f}" in message


def test_a_reading_far_off_is_told(tmp_path: Path) -> None:
    reading = {
        "clock": GUEST.name,
        "reference": synthetic.CLOCK,
        "before_ns": START,
        "other_ns": START + 10**12 + 900_000,
        "after_ns": START + 20_000,
    }
    off = condition(readings=[reading])
    assert "as they were read" in kinds(group(tmp_path / "off", off))["clock-unaligned"]
    reading["other_ns"] = START + 10**12 + 10_000
    right = condition(readings=[reading])
    assert "clock-unaligned" not in kinds(group(tmp_path / "right", right))


def test_repeats_in_guests_of_their_own_are_pooled_with_the_larger_bound(tmp_path: Path) -> None:
    again = condition(Clock("realtime@other", -(10**13), -90e-6), entry_us=80, seed=1, repeat=2)
    found = group(tmp_path, condition(), again)
    entry = next(part for part in found.segments if part.start == "sender.stack")
    assert entry.delay.n == 300
    clocks = of_packets(found).clocks
    assert len(clocks) == 2
    bounds = [trial.alignment.bound_ns(synthetic.CLOCK) / 1000 for trial in clocks]
    assert entry.bound_us == pytest.approx(max(bounds))


def test_json_tells_the_clocks(tmp_path: Path) -> None:
    directory = synthetic.write(tmp_path, [condition()])
    (clock,) = as_script(as_json(directory))["trials"][0]["clocks"]
    assert clock["between"] == "probe against the machine"
    assert clock["aligned"] is True
    assert clock["parts"][0]["drift_ppm"] == pytest.approx(80, abs=20)
    assert clock["parts"][0]["least_squares"]["drift_ppm"] == pytest.approx(80, abs=5)


def test_json_refuses_what_the_clocks_do_not_carry(tmp_path: Path) -> None:
    trial = as_script(as_json(synthetic.write(tmp_path, [unsure()])))["trials"][0]
    entry = next(part for part in trial["segments"] if part["from"] == "sender.stack")
    assert entry["median_us"] is None
    assert entry["bound_us"] == pytest.approx(trial["clocks"][0]["bound_us"])
    assert entry["why"]


def test_with_one_clock_nothing_is_said_of_clocks(tmp_path: Path) -> None:
    found = group(tmp_path, Condition(delays={EXIT: constant(1)}))
    assert of_packets(found).clocks == []
    assert kinds(found) == {}
    assert all(part.bound_us == 0 for part in found.segments)


@pytest.mark.parametrize("drift", [80e-6, 0.002])
def test_packets_meet_the_machines_record_whatever_the_guests_clock(
    tmp_path: Path, drift: float
) -> None:
    """The record is of the machine's clock, the schedule of a guest's that is days away."""
    away = condition(Clock("realtime@guest", 3 * 10**14, drift))
    directory = tmp_path / "run"
    synthetic.write_study(directory, synthetic.study([away], []))
    busy = synthetic.hosts(samples=9, busy=0.8)
    synthetic.write_trial(directory, synthetic.trial(away, 0), *synthetic.tables(away), busy)
    (found,) = groups(read_study(directory))
    under_load = next(phase for phase in found.machine.state.phases if phase.phase == "load")
    assert under_load.samples >= 6
    assert under_load.busy == pytest.approx(0.8)


def test_a_clock_that_ticks_is_told_and_its_delays_have_the_tick_as_bound(tmp_path: Path) -> None:
    """One clock for all points, which shows every 40 µs: no clocks are aligned, and yet."""
    coarse = Clock(synthetic.CLOCK, tick_ns=40_000)
    found = group(tmp_path, Condition(clocks={"sender": coarse, "machine": coarse}))
    assert "ticks every 40.0 µs" in kinds(found)["clock-tick"]
    assert [part.bound_us for part in found.segments[1:]] == pytest.approx([40] * 10)
    assert all(part.delay.median.value is None for part in found.segments[1:])


def test_the_tick_of_one_of_two_clocks_is_in_the_bound_between_them(tmp_path: Path) -> None:
    coarse = Clock(GUEST.name, GUEST.offset_ns, GUEST.drift, tick_ns=40_000)
    fine, ticking = (
        group(tmp_path / name, condition(clock))
        for name, clock in (("fine", GUEST), ("coarse", coarse))
    )
    entry = [next(p for p in g.segments if p.start == "sender.stack") for g in (fine, ticking)]
    assert entry[1].bound_us > entry[0].bound_us + 40
    assert "clock-tick" in kinds(ticking)
    assert "clock-tick" not in kinds(fine)


def test_a_slew_is_told_as_one(tmp_path: Path) -> None:
    slews = ((2_000_000_000, 6_000_000_000, 400e-6),)
    clock = Clock("realtime@guest", 0, 10e-6, slews=slews)
    directory = synthetic.write(tmp_path, [condition(clock, interval_ns=50_000_000)])
    (found,) = groups(read_study(directory))
    assert "clock-step" not in kinds(found)
    assert "changed its rate" in kinds(found)["clock-slewed"]
    (told,) = as_script(as_json(directory))["trials"][0]["clocks"]
    assert told["steps"] == []
    assert [abs(slew["rate_ppm"]) for slew in told["slews"]] == [pytest.approx(400, rel=0.2)] * 2
