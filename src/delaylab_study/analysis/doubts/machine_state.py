"""State of the machine during a trial: CPU, stolen time, pressure, drops, gaps of the record.

The phases of a trial are those of its packets, or were recorded if it has none. A sample at time t
describes the interval since the one before it. It counts for a phase if that interval lies within
the phase, so that the start or end of a load does not leak into the rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import polars as pl

from delaylab.api.verdicts import MACHINE_STEAL, MACHINE_WAITING
from delaylab_study.analysis.doubts.other_work import (
    BusyGroup,
    BusyProgram,
    busiest_groups,
    busiest_programs,
    readings,
)
from delaylab_study.analysis.doubts.stopped import stopped
from delaylab_study.analysis.packets.instrument import TAPPED, UNTAPPED
from delaylab_study.dataset.records.trial import PhaseTime, TrialRecord
from delaylab_study.dataset.store import Study

# Interval at which the record is meant to have samples.
INTERVAL_NS = 100_000_000
# A packet is flagged if, in the interval in which it was sent, the hypervisor stole a larger share
# of the CPUs' time than `STEAL`, or some task waited for a CPU for a larger share of the time than
# `PRESSURE`: as `delaylab ping` says of this machine.
STEAL, PRESSURE = MACHINE_STEAL, MACHINE_WAITING
MACHINE = "machine"
Window = tuple[str, int, int]
"""A phase, and when it began and ended, in ns."""
_CARRIED = r"^[^.]+\.(rx|tx)_bytes$"
SHARES = ("busy", "steal", "softirq", "pressure", "foreign")
"""Columns of intervals that a phase has the mean of, next to those of places."""
BACKLOG = "the kernel's backlog of a CPU"
"""Name of the queue of each CPU in which frames wait that came in, among what drops frames."""
_SPENT = r"^cpu\d+\.(user|system|softirq|steal|idle|iowait)$"


@dataclass(frozen=True, slots=True)
class PhaseState:
    """The mean state of the machine in one phase. Shares are of all CPUs' time; `cpus` counts CPUs.

    `softirq` is the part of `busy` in which the kernel worked on soft interrupts: network and
    timers. `pressure` is the share of time in which some task waited for a CPU (PSI, `some`).
    `places` gives the CPUs that each place kept busy, `foreign_cpus` those that were busy for none
    of them, and `programs` the busiest of these by name, from readings once a second. Processes
    that ended in between are among the ended children of their parent, and in their control group:
    `groups` are the busiest of those. Of `packets` sent in the phase, `flagged` were sent while
    time was stolen or tasks waited.
    """

    phase: str
    samples: int
    busy: float | None
    steal: float | None
    pressure: float | None
    foreign_cpus: float | None
    places: dict[str, float]
    packets: int
    flagged: int
    softirq: float | None = None
    programs: tuple[BusyProgram, ...] = ()
    groups: tuple[BusyGroup, ...] = ()


@dataclass(frozen=True, slots=True)
class MachineState:
    """The state of the machine by phase; `samples` taken and `missed` are of the whole record.

    `drops` counts the frames that interfaces dropped, by `interface of place`. `cpus` is the number
    of CPUs that the machine has, None if the record does not say. `stopped` gives the seconds in
    which a process of the lab was stopped by a signal, by the process.
    """

    phases: list[PhaseState]
    samples: int
    missed: int
    drops: dict[str, int]
    cpus: int | None = None
    stopped: dict[str, float] = field(default_factory=dict)


def hosts_by_machine(study: Study, trials: Sequence[TrialRecord]) -> dict[str, list[pl.DataFrame]]:
    """Return each machine's part of the table `hosts` of each trial, the sender's machine first.

    Machines that no trial recorded are left out, but for the first.
    """
    tables = [study.hosts(trial.id) for trial in trials]
    main = study.record.named(trials[0].machine)
    names = dict.fromkeys([main, *study.record.machines])
    found = {name: [table.filter(pl.col("machine") == name) for table in tables] for name in names}
    return {name: parts for name, parts in found.items() if name == main or any(map(len, parts))}


def flags(hosts: pl.DataFrame, probes: pl.DataFrame) -> pl.DataFrame:
    """Return `probe`, `seq` and `flagged` of each packet of a trial.

    A packet is flagged if it was sent in an interval in which the hypervisor stole time or tasks
    waited for a CPU.
    """
    return _flagged(intervals(hosts), probes).select("probe", "seq", "flagged")


def machine_state(
    trials: Iterable[tuple[pl.DataFrame, pl.DataFrame]],
    records: Sequence[pl.DataFrame] | None = None,
) -> MachineState:
    """Return the state from trials' tables, each given as a pair of `hosts` and `probes`.

    `records` are the trials' `intervals`, if they are known already.
    """
    samples: list[pl.DataFrame] = []
    sent: list[pl.DataFrame] = []
    drops: list[dict[str, int]] = []
    stops: list[dict[str, float]] = []
    for index, (hosts, probes) in enumerate(trials):
        record = intervals(hosts) if records is None else records[index]
        phased = _alternating_as_one(probes)
        samples.append(_with_phase(record, windows(phased)))
        sent.append(_flagged(record, phased))
        drops.append(interface_drops(hosts))
        stops.append(stopped(hosts))
    packets = pl.concat(sent)
    phases = packets["phase"].unique(maintain_order=True).to_list()
    return _state(phases, pl.concat(samples, how="diagonal"), packets, drops, stops)


def state_without_packets(
    trials: Iterable[tuple[pl.DataFrame, Sequence[PhaseTime]]],
) -> MachineState:
    """Return the state from trials without a probe, each as a pair of `hosts` and its phases."""
    samples: list[pl.DataFrame] = []
    drops: list[dict[str, int]] = []
    stops: list[dict[str, float]] = []
    names: dict[str, None] = {}
    for hosts, phases in trials:
        samples.append(_with_phase(intervals(hosts), times_of(phases)))
        drops.append(interface_drops(hosts))
        stops.append(stopped(hosts))
        names |= dict.fromkeys(each.phase for each in phases)
    nobody = pl.DataFrame(schema={"phase": pl.String, "flagged": pl.Boolean})
    return _state(list(names), pl.concat(samples, how="diagonal"), nobody, drops, stops)


def _state(
    phases: Sequence[str],
    record: pl.DataFrame,
    packets: pl.DataFrame,
    drops: Sequence[dict[str, int]],
    stops: Sequence[dict[str, float]],
) -> MachineState:
    """Return the state from all trials' intervals and packets, and each trial's drops and stops."""
    dropped: Counter[str] = Counter()
    for of_trial in drops:
        dropped.update(of_trial)
    stopped_s: dict[str, float] = {}
    for seconds in stops:
        for name, value in seconds.items():
            stopped_s[name] = stopped_s.get(name, 0.0) + value
    return MachineState(
        phases=[_phase(name, record, packets) for name in phases],
        cpus=_cpus(record),
        samples=len(record),
        missed=int(record["missed"].sum()),
        drops=dict(dropped),
        stopped=stopped_s,
    )


def _cpus(record: pl.DataFrame) -> int | None:
    """Return the number of CPUs of the machine, by its record."""
    known = record["cpus"].max() if "cpus" in record.columns else None
    return None if known is None else int(str(known))


def intervals(hosts: pl.DataFrame) -> pl.DataFrame:
    """Return one row per sampled interval: its bounds in ns, the machine's shares, CPUs by place.

    `traffic_bps` is what the busiest interface carried, both ways together. A quantity that the
    record lacks is null. `missed` counts the samples that are missing in the interval.
    """
    machine = hosts.filter(pl.col("place") == MACHINE)
    times = hosts.select(pl.col("time_ns").unique().sort())
    wide = (
        times.with_columns(pl.col("time_ns").shift().alias("since_ns"))
        .join(_shares(machine), on="time_ns", how="left", maintain_order="left")
        .join(_pressure(machine), on="time_ns", how="left", maintain_order="left")
        .join(_places(hosts), on="time_ns", how="left", maintain_order="left")
        .join(_traffic(hosts), on="time_ns", how="left", maintain_order="left")
        .join_asof(readings(machine), on="time_ns", strategy="forward")
    )
    busy_places = [name for name in wide.columns if name.startswith("at ")]
    lasted = pl.col("time_ns") - pl.col("since_ns")
    foreign = pl.lit(None, pl.Float64)
    if busy_places:
        own = pl.sum_horizontal(busy_places)
        foreign = (pl.col("busy") * pl.col("cpus") - own).clip(0)
    return wide.filter(pl.col("since_ns").is_not_null()).with_columns(
        (pl.col("waited_us") * 1000 / lasted).clip(0, 1).alias("pressure"),
        (lasted / INTERVAL_NS).round().sub(1).clip(0).cast(pl.Int64).alias("missed"),
        foreign.alias("foreign"),
        (8e9 * pl.col("carried") / lasted).alias("traffic_bps"),
    )


def interface_drops(hosts: pl.DataFrame) -> dict[str, int]:
    """Return the frames that each interface dropped while it was watched, without zeros.

    Nodes in their host's stack count the same interface, so their places share one entry. The
    kernel drops frames, too, if the backlog of a CPU is full: it is `BACKLOG`.
    """
    of_places = hosts.filter(pl.col("place") != MACHINE)
    counters = of_places.filter(pl.col("metric").str.contains(r"\.(rx|tx)_dropped$"))
    totals = (
        counters.group_by("place", "metric")
        .agg((pl.col("value").max() - pl.col("value").min()).alias("dropped"))
        .filter(pl.col("dropped") > 0)
        .with_columns(pl.col("metric").str.replace(r"\.(rx|tx)_dropped$", "").alias("interface"))
        .sort("place", "metric")
        .group_by("interface", "metric", "dropped", maintain_order=True)
        .agg(pl.col("place").str.join(", "))
        .group_by("interface", "place", maintain_order=True)
        .agg(pl.col("dropped").sum())
    )
    found = {f"{interface} of {place}": int(n) for interface, place, n in totals.iter_rows()}
    backlog = hosts.filter(pl.col("metric") == "backlog.dropped")["value"]
    dropped = int(float(str(backlog.max())) - float(str(backlog.min()))) if len(backlog) else 0
    return {**found, BACKLOG: dropped} if dropped else found


def _shares(machine: pl.DataFrame) -> pl.DataFrame:
    spent = machine.filter(pl.col("metric").str.contains(_SPENT)).with_columns(
        pl.col("metric").str.extract(r"\.(\w+)$").alias("what"),
        pl.col("metric").str.extract(r"^(cpu\d+)").alias("cpu"),
    )
    unused = pl.col("value").filter(pl.col("what").is_in(["idle", "iowait"])).sum()
    stolen = pl.col("value").filter(pl.col("what") == "steal").sum()
    interrupted = pl.col("value").filter(pl.col("what") == "softirq").sum()
    cpus = pl.col("cpu").n_unique()
    return spent.group_by("time_ns").agg(
        (1 - unused / cpus).clip(0, 1).alias("busy"),
        (stolen / cpus).alias("steal"),
        (interrupted / cpus).alias("softirq"),
        cpus.cast(pl.Int64).alias("cpus"),
    )


def _pressure(machine: pl.DataFrame) -> pl.DataFrame:
    waited = machine.filter(pl.col("metric") == "pressure.cpu.some_us").sort("time_ns")
    return waited.select("time_ns", pl.col("value").diff().alias("waited_us"))


def _places(hosts: pl.DataFrame) -> pl.DataFrame:
    used = hosts.filter(pl.col("metric") == "cpus")
    wide = used.pivot("place", index="time_ns", values="value", aggregate_function="first")
    return wide.rename({name: f"at {name}" for name in wide.columns if name != "time_ns"})


def _traffic(hosts: pl.DataFrame) -> pl.DataFrame:
    """Return the bytes that the busiest interface but `lo` carried since the sample before."""
    counters = hosts.filter(
        pl.col("place") != MACHINE,
        pl.col("metric").str.contains(_CARRIED) & ~pl.col("metric").str.starts_with("lo."),
    )
    by_interface = "place", pl.col("metric").str.extract(r"^([^.]+)\.").alias("interface")
    return (
        counters.group_by("time_ns", *by_interface)
        .agg(pl.col("value").sum())
        .sort("time_ns")
        .with_columns(pl.col("value").diff().over("place", "interface").alias("carried"))
        .group_by("time_ns")
        .agg(pl.col("carried").max())
    )


def _alternating_as_one(probes: pl.DataFrame) -> pl.DataFrame:
    """Return the schedule with phases `untapped` and `before` as one if their blocks alternate.

    No sample lies within a single block.
    """
    untapped = probes.filter(pl.col("phase") == UNTAPPED)["intended_ns"].max()
    tapped = probes.filter(pl.col("phase") == TAPPED)["intended_ns"].min()
    if untapped is None or tapped is None or int(str(untapped)) < int(str(tapped)):
        return probes
    return probes.with_columns(pl.col("phase").replace(UNTAPPED, TAPPED))


def times_of(phases: Sequence[PhaseTime]) -> list[Window]:
    """Return each recorded phase with its times, in ns."""
    return [(each.phase, each.start_ns, each.end_ns) for each in phases]


def windows(probes: pl.DataFrame) -> list[Window]:
    """Return each phase with the times of its first and its last packet, in ns."""
    found = probes.group_by("phase").agg(
        pl.col("intended_ns").min().alias("start"),
        pl.max_horizontal("intended_ns", "sent_ns").max().alias("end"),
    )
    return list(found.iter_rows())


def _with_phase(record: pl.DataFrame, windows: Iterable[Window]) -> pl.DataFrame:
    """Add the phase in which each interval lies, or null."""
    phase = pl.lit(None, pl.String)
    for name, start, end in windows:
        inside = (pl.col("since_ns") >= start) & (pl.col("time_ns") <= end)
        phase = pl.when(inside).then(pl.lit(name)).otherwise(phase)
    return record.with_columns(phase.alias("phase"))


def _flagged(record: pl.DataFrame, probes: pl.DataFrame) -> pl.DataFrame:
    """Return keys, phase and flag of every packet; its interval of the record has the flag."""
    disturbed = (pl.col("steal") > STEAL) | (pl.col("pressure") > PRESSURE)
    disturbances = record.select(
        "time_ns", "since_ns", disturbed.fill_null(False).alias("disturbed")
    )
    keys = ("probe", "seq", "phase")
    sent = probes.select(*keys, pl.coalesce("sent_ns", "intended_ns").alias("sent")).sort("sent")
    found = sent.join_asof(
        disturbances.sort("time_ns"), left_on="sent", right_on="time_ns", strategy="forward"
    )
    inside = pl.col("sent") > pl.col("since_ns")
    return found.select(*keys, (pl.col("disturbed") & inside).fill_null(False).alias("flagged"))


def _phase(name: str, table: pl.DataFrame, packets: pl.DataFrame) -> PhaseState:
    here = table.filter(pl.col("phase") == name)
    sent = packets.filter(pl.col("phase") == name)
    shares = [*SHARES, *(name for name in here.columns if name.startswith("at "))]
    mean = here.select(pl.col(shares).cast(pl.Float64).mean()).row(0, named=True)
    places = {name.removeprefix("at "): mean[name] for name in shares if name.startswith("at ")}
    return PhaseState(
        phase=name,
        samples=len(here),
        busy=mean["busy"],
        steal=mean["steal"],
        pressure=mean["pressure"],
        foreign_cpus=mean["foreign"],
        places={place: used for place, used in places.items() if used is not None},
        packets=len(sent),
        flagged=int(sent["flagged"].sum()),
        softirq=mean["softirq"],
        programs=busiest_programs(here),
        groups=busiest_groups(here),
    )
