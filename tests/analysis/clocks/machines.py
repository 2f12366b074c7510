"""Seeded trials between two machines with known clocks, whose network queues packets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from delaylab_study.analysis.clocks.align import Alignment, align
from delaylab_study.analysis.clocks.exchanges import Exchanges
from delaylab_study.analysis.clocks.line import Nanoseconds
from delaylab_study.analysis.clocks.stations import Station, TakenStamps

ONE, OTHER = "realtime@one", "realtime@other"
STATIONS = {
    Station("request", "sender.stack"): ONE,
    Station("request", "responder.stack"): OTHER,
    Station("reply", "responder.stack"): OTHER,
    Station("reply", "sender.stack"): ONE,
}
"""The stations of a packet, each with its clock."""
START = 1_800_000_000 * 10**9
PROBE_EVERY_NS = 20_000_000
AT_REST_NS = 1_000_000_000
LINK_NS = 10_000_000
"""The delay that the link between the machines adds to a request."""
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Clock:
    """A clock that is off by `offset_ns` at START, drifts, and steps at a time after START."""

    offset_ns: int = 0
    drift: float = 0.0
    step_ns: int = 0
    step_at_ns: int = 0

    def shown(self, true_ns: Nanoseconds) -> Nanoseconds:
        since = true_ns - START
        drifted = np.rint(since * self.drift).astype(np.int64)
        stepped = np.where(since >= self.step_at_ns, self.step_ns, 0)
        return np.asarray(true_ns + self.offset_ns + drifted + stepped, dtype=np.int64)


@dataclass(frozen=True)
class Network:
    """The way between two machines: the least delay each way in ns, and how it queues."""

    there_ns: int
    back_ns: int
    queue_ns: float
    busy: float
    """The share of time under load in which a long queue stands in the way."""
    busy_ns: int = 0
    """The time from START until the end of the load."""

    def delays(self, random: np.random.Generator, least_ns: int, times_ns: Nanoseconds) -> Floats:
        short = random.exponential(self.queue_ns, len(times_ns))
        since = times_ns - START
        bursts = (np.sin(since / 3e8) > np.cos(np.pi * self.busy)) & (since > 0)
        bursts &= since < self.busy_ns
        long = random.exponential(50 * self.queue_ns, len(times_ns))
        return np.asarray(least_ns + short + np.where(bursts, long, 0), dtype=np.float64)


@dataclass(frozen=True)
class Case:
    """A trial aligned, the error of each stamp of the other clock, and the least round trip."""

    clock: Clock
    network: Network
    alignment: Alignment
    off_ns: Nanoseconds
    least_ns: int

    @property
    def within(self) -> NDArray[np.bool_]:
        """Return for each aligned stamp if it is within its bound, and 1 ns for rounding."""
        return np.abs(self.off_ns) <= self.alignment.bound_ns(OTHER) + 1


def exchanges(
    random: np.random.Generator,
    clock: Clock,
    network: Network,
    span_ns: int,
    symmetric_ns: int | None = None,
) -> Exchanges:
    """Send a pair of probes each 20 ms, from a time at rest before the load to one after it."""
    first = START + np.arange(-AT_REST_NS, span_ns + AT_REST_NS, PROBE_EVERY_NS)
    sent = np.repeat(first, 2) + np.tile([0, 1_000], len(first))
    arrived = sent + np.rint(network.delays(random, network.there_ns, sent)).astype(np.int64)
    left = arrived + 2_000
    back = left + np.rint(network.delays(random, network.back_ns, left)).astype(np.int64)
    times = (sent, clock.shown(arrived), clock.shown(left), back)
    return Exchanges(ONE, OTHER, np.arange(len(sent)), *times, symmetric_ns=symmetric_ns)


def case(seed: int, packets: int, every_ns: int = 1_000_000) -> Case:
    """Any offset, up to 30 ppm of drift, in every second case a step of 1 µs to 1 s."""
    random = np.random.default_rng(seed)
    span = packets * every_ns
    step = int(random.choice([-1, 1]) * 10 ** random.uniform(3, 9)) if seed % 2 else 0
    clock = Clock(
        int(random.integers(-(10**15), 10**15)),
        float(random.uniform(-30e-6, 30e-6)),
        step,
        int(span * random.uniform(0.1, 0.9)),
    )
    there, back = (int(each) for each in random.integers(5_000, 500_000, 2))
    queue, busy = float(random.uniform(1_000, 10_000)), float(random.uniform(0, 0.8))
    network = Network(there, back, queue, busy, span)
    return aligned(random, clock, network, packets, every_ns)


def small_step(seed: int, packets: int, every_ns: int = 1_000_000) -> Case:
    """A step of 10 µs to 1 ms, most often less than a round trip; often one way takes no time."""
    random = np.random.default_rng(10_000 + seed)
    span = packets * every_ns
    step = int(random.choice([-1, 1]) * 10 ** random.uniform(4, 6))
    drift, at = float(random.uniform(-30e-6, 30e-6)), int(span * random.uniform(0.1, 0.9))
    there, back = (int(each) for each in random.integers(5_000, 500_000, 2))
    queue, busy = float(random.uniform(1_000, 10_000)), float(random.uniform(0, 0.8))
    network = Network(there if seed % 3 else 0, back, queue, busy, span)
    return aligned(random, Clock(0, drift, step, at), network, packets, every_ns)


def aligned(
    random: np.random.Generator,
    clock: Clock,
    network: Network,
    packets: int,
    every_ns: int = 1_000_000,
    symmetric_ns: int | None = None,
    compared: float = 1.0,
) -> Case:
    """Send packets over a link of 10 ms between the machines; align what was stamped.

    The clocks are compared during a share of that time, from the beginning.
    """
    probed_ns = round(compared * packets * every_ns)
    probes = exchanges(random, clock, network, probed_ns, symmetric_ns)
    sent = START + np.arange(packets) * every_ns
    there = np.rint(network.delays(random, network.there_ns, sent)).astype(np.int64)
    arrived = sent + LINK_NS + there
    left = arrived + random.integers(2_000, 20_000, packets)
    back = left + np.rint(network.delays(random, network.back_ns, left)).astype(np.int64)
    shown = (sent, clock.shown(arrived), clock.shown(left), back)
    taken = {
        station: TakenStamps(pl.Series(times), its)
        for (station, its), times in zip(STATIONS.items(), shown, strict=True)
    }
    found, alignment = align(pl.Series(["load"] * packets), taken, ONE, [probes])
    off = [
        (times - pl.Series(true)).drop_nulls().to_numpy()
        for times, true in zip(found.values(), (arrived, left), strict=True)
    ]
    least = int((probes.back_ns - probes.sent_ns - (probes.left_ns - probes.arrived_ns)).min())
    return Case(clock, network, alignment, np.concatenate(off), least)
