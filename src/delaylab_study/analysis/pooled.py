"""The trials of a group as read, with their packets in one table: all, or those of one way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from delaylab_study.analysis.doubts.clocks import TrialClocks, trial_clocks
from delaylab_study.analysis.doubts.machine_state import (
    Window,
    hosts_by_machine,
    intervals,
    windows,
)
from delaylab_study.analysis.group import OnWay, SegmentSummary
from delaylab_study.analysis.over_time.slowest import TrialTimes
from delaylab_study.analysis.packets import accounting, rtt
from delaylab_study.analysis.packets.accounting import Account, by_phase
from delaylab_study.analysis.packets.instrument import UNTAPPED
from delaylab_study.analysis.packets.layers import SLIP, WITH_CONDITIONS
from delaylab_study.analysis.packets.named import named
from delaylab_study.analysis.packets.segments import Segment
from delaylab_study.analysis.packets.table import MEASURED, TRIAL, Packets, joined
from delaylab_study.analysis.packets.trial import PacketsByWay, TrialPackets, packets_by_way
from delaylab_study.analysis.statistics.quantiles import Summary, refused, summarise_all
from delaylab_study.analysis.statistics.runs import by_trial
from delaylab_study.dataset.records.trial import TrialRecord
from delaylab_study.dataset.store import Study


@dataclass(frozen=True, slots=True)
class Pooled:
    """Packets of trials that have one way in common; `scheduled` numbers the trials (`TRIAL`).

    `packets` are those sent with the taps on, `measured` those under load, `answered` those of them
    that came back.
    """

    read: list[TrialPackets]
    packets: Packets
    measured: Packets
    answered: Packets

    @property
    def trials(self) -> list[TrialRecord]:
        """Return the trials' records, as if they had this way alone."""
        return [each.trial for each in self.read]

    @property
    def every_s(self) -> float | None:
        """Return the time between two packets under load; in a closed loop the median of it."""
        configured = self.read[0].trial.interval_ns
        if configured:
            return configured / 1e9
        times = self.measured.scheduled.select(
            pl.col("intended_ns").diff().over(TRIAL).alias("between")
        )["between"]
        between = times.median()
        return between / 1e9 if isinstance(between, int | float) and between > 0 else None

    def account(self) -> Account:
        """Account for the packets sent with the taps on."""
        return accounting.account(self.packets.as_stamped, self.trials)

    def segments(self) -> list[Segment]:
        """Return the segments of the answered packets."""
        return named(self.answered, self.trials[0])


Parted = tuple[Pooled, list[Segment]]
"""Pooled packets, and the segments of those that came back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRead:
    """A group's trials as they were read: their packets, and the records of their machines.

    `on` has the packets of each way by its name, those of the only way under "". `elsewhere` are
    those that fit several ways and those that fit no way, nothing if there is one way. `clock` is
    that of the sender's machine, which `times` and `hosts` are of; `others` has the records of each
    other machine, by its name. All lists are in the order of the trials.
    """

    study: Study
    trials: list[TrialRecord]
    by_way: list[PacketsByWay]
    whole: Pooled
    on: dict[str, Parted]
    elsewhere: list[Parted]
    clocks: list[TrialClocks]
    clock: str
    times: list[TrialTimes]
    hosts: list[pl.DataFrame]
    others: dict[str, list[pl.DataFrame]]

    @property
    def windows(self) -> list[list[Window]]:
        """Return the times of each trial's phases."""
        return [windows(each.packets.scheduled) for each in self.times]


def read_group(study: Study, trials: list[TrialRecord]) -> GroupRead:
    """Read the trials of a group; those of several ways are parted by them."""
    (main, hosts), *others = hosts_by_machine(study, trials).items()
    clock = study.record.machines[main].clock
    by_way = [packets_by_way(study, trial) for trial in trials]
    whole = pooled({number: each.whole for number, each in enumerate(by_way)})
    ways = pooled_by_way(by_way) or {"": whole}
    return GroupRead(
        study=study,
        trials=trials,
        by_way=by_way,
        whole=whole,
        on={name: (each, each.segments()) for name, each in ways.items()},
        elsewhere=[(each, each.segments()) for each in pooled_elsewhere(by_way)],
        clocks=[clocks for each in by_way for clocks in _clocks(each)],
        clock=clock,
        times=[
            TrialTimes(each.trial.id, each.scheduled_by(clock), intervals(host))
            for each, host in zip(whole.read, hosts, strict=True)
        ],
        hosts=hosts,
        others=dict(others),
    )


def _clocks(packets: PacketsByWay) -> Iterator[TrialClocks]:
    """Yield the alignment of a trial's clocks, and that of each way with clocks of its own."""
    shared = packets.whole.alignment
    yield trial_clocks(packets.whole.trial, shared, packets.whole.compared)
    for each in packets.on.values():
        if not {*each.alignment.clocks.values()} <= {*shared.clocks.values()}:
            yield trial_clocks(each.trial, each.alignment)


def pooled(read: Mapping[int, TrialPackets]) -> Pooled:
    """Pool the packets of trials, which are given by their numbers in rising order."""
    scheduled = joined({n: each.packets for n, each in read.items()})
    measured = scheduled.of(MEASURED)
    return Pooled(
        [*read.values()],
        scheduled.filter(pl.col("phase") != UNTAPPED),
        measured,
        measured.complete(next(iter(read.values())).trial.way),
    )


def pooled_by_way(read: Sequence[PacketsByWay]) -> dict[str, Pooled]:
    """Return the packets of each way by its name, nothing if no trial has several ways."""
    if all(each.unknown is None for each in read):
        return {}
    names = dict.fromkeys(name for each in read for name in each.on)
    return {
        name: pooled({n: each.on[name] for n, each in enumerate(read) if name in each.on})
        for name in names
    }


def pooled_elsewhere(read: Sequence[PacketsByWay]) -> list[Pooled]:
    """Return the packets that fit several ways and those that fit no way, unless there is one."""
    unknown = {n: each.unknown for n, each in enumerate(read) if each.unknown is not None}
    off = {n: each.off for n, each in enumerate(read) if each.off is not None}
    return [pooled(unknown), pooled(off)] if unknown else []


def on_way(name: str, packets: Pooled, parts: list[Segment]) -> OnWay:
    """Return what a group's packets of one way show; `parts` are their segments."""
    trips = rtt.round_trips(packets.answered).with_columns(packets.answered.scheduled[TRIAL])
    return OnWay(
        way=name,
        trials=packets.trials,
        packets=len(packets.measured),
        phases=by_phase(packets.read),
        account=packets.account(),
        rtt=summaries(trips, rtt.VANTAGE, packets.every_s),
        segments=[replace(each, way=name) for each in segment_summaries(packets, parts)],
    )


def without_links(answered: Packets, packets: Iterable[Parted]) -> tuple[pl.Series, float]:
    """Return the user RTTs of answered packets in ns less their time in links with conditions.

    `packets` are those of each way with their segments. A packet's value is null if its way is not
    known, or if a point has no stamp, so that its time in a link is one with that of another layer.
    The second value is the largest error in ns that aligning clocks leaves: an RTT is by one clock,
    and the errors of the times in links add up at worst.
    """
    keys = [TRIAL, "probe", "seq"]
    parts, bound_ns = [], 0.0
    for each, segments_of in packets:
        off = np.zeros(len(each.answered))
        in_links = np.zeros(len(each.answered), dtype=np.int64)
        known = np.ones(len(each.answered), dtype=np.bool_)
        for part in segments_of:
            if part.layer == WITH_CONDITIONS:
                in_links[part.rows] += part.delay_ns
                off[part.rows] += part.bound_ns
            elif WITH_CONDITIONS in part.layer:
                known[part.rows] = False
        found = each.answered.scheduled.select(keys).with_columns(
            pl.Series("in links", in_links), pl.Series("known", known)
        )
        parts.append(found.filter("known").drop("known"))
        bound_ns = max(bound_ns, float(off[known].max(initial=0)))
    of_all = answered.scheduled.select(keys).join(
        pl.concat(parts), on=keys, how="left", maintain_order="left"
    )
    less = rtt.user_rtts(answered) - of_all["in links"]
    return less.alias(rtt.WITHOUT_LINKS), bound_ns


def summaries(
    trips: pl.DataFrame, names: Iterable[str], every_s: float | None = None
) -> dict[str, Summary]:
    """Summarise columns of round trips by name; those without a value are left out.

    `every_s` is the time between two packets, None if it is not known.
    """
    trials = trips[TRIAL].to_numpy()
    runs = {}
    for name in names:
        delays, of = trips[name], trials
        if delays.null_count():
            known = delays.is_not_null()
            delays, of = delays.filter(known), trials[known.to_numpy()]
        if len(delays):
            runs[name] = by_trial(delays.to_numpy(), of)
    return dict(zip(runs, summarise_all([*runs.values()], every_s), strict=True))


def segment_summaries(packets: Pooled, parts: list[Segment]) -> list[SegmentSummary]:
    """Summarise the slip and each segment of the packets."""
    trials = packets.answered.scheduled[TRIAL].to_numpy()
    slips = packets.measured.scheduled.select(TRIAL, "slip_ns").drop_nulls()
    every_s = packets.every_s
    slip_ns = by_trial(slips["slip_ns"].to_numpy(), slips[TRIAL].to_numpy())
    delays_ns = [by_trial(part.delay_ns, trials[part.rows]) for part in parts]
    slip, *of_parts = summarise_all([slip_ns, *delays_ns], every_s)
    found = [
        SegmentSummary(
            leg="request",
            start="intended",
            end="sent",
            layer=SLIP,
            direction="sending",
            merged=False,
            delay=slip,
        )
    ]
    for part, summary in zip(parts, of_parts, strict=True):
        off = part.bound_ns / 1000
        delays = refused(summary, off)
        found.append(
            SegmentSummary(
                leg=part.leg,
                start=part.start,
                end=part.end,
                layer=part.layer,
                direction=part.direction,
                merged=part.merged,
                delay=delays,
                bound_us=off,
                at=part.at,
            )
        )
    return found
