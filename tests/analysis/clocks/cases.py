"""Seeded trials of guests whose clocks are known: the truth beside what was stamped."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from delaylab_study.analysis.clocks.align import Alignment
from delaylab_study.analysis.clocks.stations import Station
from delaylab_study.analysis.packets import segments
from delaylab_study.analysis.packets.table import Packets
from delaylab_study.dataset.records.ways import Way
from tests import stamped, synthetic
from tests.synthetic import START, Clock, Condition, Delay, exponential, lognormal

MACHINE = synthetic.CLOCK
STATIONS = Condition().stations()


@dataclass
class Aligned:
    """A trial aligned, and for each stamp of another clock its error in ns."""

    condition: Condition
    packets: Packets
    alignment: Alignment
    errors: dict[Station, pl.Series]

    @property
    def worst_ns(self) -> float:
        worst = [series.abs().max() for series in self.errors.values()]
        return max((float(str(w)) for w in worst if w is not None), default=0.0)

    @property
    def within_bounds(self) -> bool:
        """Whether every aligned stamp is within its bound (and the last ns of rounding)."""
        for station, error in self.errors.items():
            bound_ns = self.packets.stations[station].bound_ns
            assert bound_ns is not None
            if not (error.abs() <= bound_ns + 1).fill_null(True).all():
                return False
        return True


def way(condition: Condition) -> Way:
    return Way.model_validate(synthetic.trial(condition, 0)["ways"][0])


def aligned(condition: Condition) -> Aligned:
    path = way(condition)
    packets, alignment = segments.aligned(*synthetic.tables(condition), path, MACHINE)
    clocks, condition.clocks = condition.clocks, {}
    true = stamped.packets(*synthetic.tables(condition), path)
    condition.clocks = clocks
    sender = condition.clock("sender.app")
    errors = {}
    for station, stamps in packets.stations.items():
        if stamps.own is not None:
            now = true[str(station)].to_numpy()
            errors[station] = stamps.times - pl.Series(now + sender.ahead(now))
    return Aligned(condition, packets, alignment, errors)


def seeded(seed: int) -> Condition:
    """A sender in a guest: any offset, up to 200 ppm of drift, in every second case a step.

    Each direction has its own noise, exponential or log-normal, on top of a least delay of its own;
    every fifth case has none.
    """
    random = np.random.default_rng(seed)
    interval = 5_000_000
    packets, at_rest = int(random.integers(100, 300)), 20
    span = (packets + 2 * at_rest) * interval
    steps: tuple[tuple[int, int], ...] = ()
    if seed % 2:
        size = int(random.choice([-1, 1]) * 10 ** random.uniform(4.5, 9))
        steps = ((int(span * random.uniform(0.1, 0.9)), size),)
    guest = Clock(
        "realtime@guest",
        int(random.integers(-(10**15), 10**15)),
        float(random.uniform(-200e-6, 200e-6)),
        steps,
    )
    floor = 0.0 if seed % 5 == 0 else 1.0
    return Condition(
        kind="qemu",
        packets=packets,
        at_rest=at_rest,
        interval_ns=interval,
        seed=seed,
        delays={
            ("request", "sender.vif"): _noise(random, floor),
            ("reply", "sender.stack"): _noise(random, floor),
            ("reply", "wire"): exponential(100),
        },
        clocks={"sender": guest},
    )


def ticking(seed: int, guest_ns: int, machine_ns: int = 1) -> Condition:
    """The same trials without a step, of clocks that show only every so many ns."""
    condition = seeded(2 * seed)
    guest = replace(condition.clocks["sender"], tick_ns=guest_ns)
    machine = replace(synthetic.TRUE, tick_ns=machine_ns)
    condition.clocks = {"sender": guest, "machine": machine}
    return condition


def slewing(seed: int, interval_ns: int = 50_000_000) -> Condition:
    """The same trials without a step, of a guest that is slewed by 100 to 500 ppm for a while."""
    condition = replace(seeded(2 * seed), interval_ns=interval_ns)
    random = np.random.default_rng(seed)
    span = (condition.packets + 2 * condition.at_rest) * interval_ns
    begin = span * random.uniform(0.1, 0.7)
    end = begin + span * random.uniform(0.2, 1.0)
    guest = replace(condition.clocks["sender"], drift=float(random.uniform(-50e-6, 50e-6)))
    rate = float(random.choice([-1, 1]) * random.uniform(100e-6, 500e-6))
    condition.clocks = {"sender": replace(guest, slews=((int(begin), int(end), rate),))}
    return condition


def step_of(condition: Condition) -> tuple[int, int] | None:
    steps = condition.clock("sender.app").steps
    return steps[0] if steps else None


def packet_at(condition: Condition, time_ns: int) -> int:
    """The packet that was due last at a true time."""
    return (time_ns - START) // condition.interval_ns


def _noise(random: np.random.Generator, floor: float) -> Delay:
    least = floor * float(random.uniform(5, 60))
    scale = float(random.uniform(2, 200))
    if random.random() < 0.5:
        return exponential(scale, least)
    drawn = lognormal(scale, 1)
    return lambda source, n: least + drawn(source, n)
