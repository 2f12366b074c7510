"""Comparison of the clocks of a lab's machines, before, during and after a trial.

Between each two machines with clocks of their own the one sends probes in pairs, and the other
answers them. Both kernels stamp them, on the network that also carries the links between them. So
the probes measure that network, too; machines with one clock exchange them for this alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from ipaddress import ip_address
from itertools import combinations

import polars as pl

from delaylab.api.agents import Hello, Probe, ProbeDone, Reflect, ReflectDone, Result, Session
from delaylab.api.lab import Lab
from delaylab.api.machines import Machine, addresses_of_machines
from delaylab.api.records import ClosedWay, MeasuredUnderlay
from delaylab.api.running import LiveLab, closed_ways, joined_machines
from delaylab_study.dataset.records.comparisons import ClockComparison, TimeSync
from delaylab_study.dataset.records.tables import COMPARISONS
from delaylab_study.trial import underlays
from delaylab_study.trial.frames import frame
from delaylab_study.trial.time_sync import time_sync

EVERY_NS = 10_000_000
"""The mean time between two probes; they are sent in pairs."""
MOST = 120_000
"""The most probes of one comparison: those of 20 minutes."""
SIZE = 64
LATE_NS = 1_000_000_000
READY_S = 20.0
PROBE = 0x434C4B
"""The number of the first comparison's probe; those of trials are smaller (`study`)."""
SENT, ARRIVED = ("stack", "qdisc", "app"), ("stack", "app")
"""The stamps that count on sending and on arrival, the closest to the wire first."""
REQUEST, REPLY = 0, 1


@dataclass(kw_only=True)
class _ClockProbes:
    """Probes under way between two machines, named as in the lab, and what is known of them."""

    machine: str
    other: str
    clocks: tuple[str, str]
    symmetric_ns: int | None
    sender: Session
    answerer: Session
    sent: Result[ProbeDone]
    answered: Result[ReflectDone]


@dataclass
class ClockComparisons:
    """Comparisons of a trial, complete once the block of `comparing` has ended."""

    records: list[ClockComparison] = field(default_factory=list)
    underlays: list[MeasuredUnderlay] = field(default_factory=list)
    closed: list[ClosedWay] = field(default_factory=list)
    time_sync: list[TimeSync] = field(default_factory=list)
    tables: list[pl.DataFrame] = field(default_factory=list)

    @property
    def table(self) -> pl.DataFrame:
        """Return the table `comparisons`; no rows if nothing was compared."""
        return pl.concat([pl.DataFrame(schema=COMPARISONS), *self.tables])


@contextmanager
def comparing(lab: LiveLab) -> Iterator[ClockComparisons]:
    """Compare the clocks of a lab's machines for the length of a block; nothing on one machine."""
    machines = lab.machines
    clocks = _clocks(machines) if len(machines) > 1 else {}
    pairs = [
        pair
        for pair in combinations(machines, 2)
        if clocks and (_differ(clocks, pair) or joined_machines(lab.plan, pair))
    ]
    compared = ClockComparisons()
    if not pairs:
        yield compared
        compared.closed = closed_ways(lab)
        return
    at = addresses_of_machines(lab.spec, machines)
    differing = {name for pair in pairs if _differ(clocks, pair) for name in pair}
    compared.time_sync = [
        reading
        for name in machines
        if name in differing
        for reading in time_sync(name, machines[name])
    ]
    running: list[_ClockProbes] = []
    try:
        for number, pair in enumerate(pairs):
            running.append(_begin(lab.spec, machines, pair, clocks, at, PROBE + number))
        yield compared
        for each in running:
            times = _end(each)
            pair, packets = (each.machine, each.other), frame(each.sent, "packets")
            compared.underlays.append(underlays.measured(lab.plan, pair, packets, times))
            if _differ(clocks, pair):
                compared.records.append(_record(each))
                compared.tables.append(times)
        compared.closed = closed_ways(lab)
    finally:
        for each in running:
            each.sender.close()
            each.answerer.close()


def _clocks(machines: Mapping[str, Machine]) -> dict[str, str]:
    """Return the name of each machine's clock."""
    found = {}
    for name, machine in machines.items():
        session = machine.session()
        try:
            found[name] = session.call(Hello()).done.clock
        finally:
            session.close()
    return found


def _differ(clocks: Mapping[str, str], pair: tuple[str, str]) -> bool:
    return clocks[pair[0]] != clocks[pair[1]]


def _begin(
    spec: Lab,
    machines: Mapping[str, Machine],
    pair: tuple[str, str],
    clocks: Mapping[str, str],
    at: Mapping[str, str],
    probe: int,
) -> _ClockProbes:
    one, other = pair
    ip = ip_address(at[other]).version
    answerer = machines[other].session()
    answered = answerer.start(Reflect(port=0, ip=ip, stamps=True, probe=probe, packets=MOST))
    port = answerer.port(READY_S)
    sender = machines[one].session()
    sent = sender.start(
        Probe(
            probe=probe,
            protocol="udp",
            to=at[other],
            port=port,
            count=MOST,
            interval_ns=EVERY_NS,
            size=SIZE,
            linger_ns=LATE_NS,
            late_ns=LATE_NS,
            pairs=True,
        )
    )
    sender.event(READY_S)
    between = clocks[one], clocks[other]
    symmetric = _symmetric_ns(spec, pair)
    return _ClockProbes(
        machine=one,
        other=other,
        clocks=between,
        symmetric_ns=symmetric,
        sender=sender,
        answerer=answerer,
        sent=sent,
        answered=answered,
    )


def _symmetric_ns(spec: Lab, pair: tuple[str, str]) -> int | None:
    """Return the largest difference of the one-way delays between two machines, if it is stated.

    Of this machine nothing is to state; of two others both must be stated.
    """
    stated = [spec.machines[name].symmetric for name in pair if name in spec.machines]
    known = [each.ns for each in stated if each is not None]
    return sum(known) if len(known) == len(stated) else None


def _end(comparison: _ClockProbes) -> pl.DataFrame:
    """Stop a comparison; return its rows of the table."""
    comparison.sender.stop()
    comparison.sender.finish(READY_S)
    comparison.answerer.stop()
    comparison.answerer.finish(READY_S)
    reference, clock = comparison.clocks
    own, theirs = frame(comparison.sent, "stamps"), frame(comparison.answered, "stamps")
    return (
        _first(own, REQUEST, SENT, "sent_ns")
        .join(_first(theirs, REQUEST, ARRIVED, "arrived_ns"), on="seq")
        .join(_first(theirs, REPLY, SENT, "left_ns"), on="seq")
        .join(_first(own, REPLY, ARRIVED, "back_ns"), on="seq")
        .sort("seq")
        .with_columns(pl.lit(reference).alias("reference"), pl.lit(clock).alias("clock"))
        .select(pl.col(name).cast(kind) for name, kind in COMPARISONS.items())
    )


def _record(comparison: _ClockProbes) -> ClockComparison:
    reference, clock = comparison.clocks
    return ClockComparison(
        machine=comparison.machine,
        other=comparison.other,
        reference=reference,
        clock=clock,
        sent=comparison.sent.done.sent,
        symmetric_ns=comparison.symmetric_ns,
    )


def _first(stamps: pl.DataFrame, leg: int, points: tuple[str, ...], name: str) -> pl.DataFrame:
    """Return the time of each probe on a leg at the first of these points that stamped it."""
    order = {point: place for place, point in enumerate(points)}
    return (
        stamps.filter((pl.col("leg") == leg) & pl.col("point").cast(pl.String).is_in(points))
        .with_columns(pl.col("point").cast(pl.String).replace_strict(order).alias("order"))
        .sort("order", "time_ns")
        .unique("seq", keep="first", maintain_order=True)
        .select("seq", pl.col("time_ns").alias(name))
    )
