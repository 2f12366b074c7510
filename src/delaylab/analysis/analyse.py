"""Analysis of a study's trials, group by group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from delaylab.analysis.delay_by_share import delays_by_share
from delaylab.analysis.doubts.clocks import clock_doubts, trial_clocks
from delaylab.analysis.doubts.cpu_time import cpu_time_doubts
from delaylab.analysis.doubts.machine import machine_doubts
from delaylab.analysis.doubts.machine_state import (
    Window,
    intervals,
    machine_state,
    state_without_packets,
    times_of,
    windows,
)
from delaylab.analysis.doubts.packets import doubts
from delaylab.analysis.doubts.reserved_cpus import ReservedSeen, reserved_seen
from delaylab.analysis.group import (
    KEPT,
    MEASURED,
    REST,
    Group,
    GroupLinks,
    GroupMachine,
    GroupPackets,
    GroupWork,
    SegmentSummary,
    by_trial,
    in_words,
    load_name,
)
from delaylab.analysis.links.fidelity import link_doubts, lost_in_downtimes, trial_links
from delaylab.analysis.over_time.slowest import TRIAL, TrialTimes, slowest
from delaylab.analysis.over_time.timeline import timeline
from delaylab.analysis.over_time.usage import IN_USE, in_use
from delaylab.analysis.packets import accounting, rtt, segments
from delaylab.analysis.packets.accounting import by_phase
from delaylab.analysis.packets.closed_loop import loop_seen
from delaylab.analysis.packets.instrument import UNTAPPED, at_rest
from delaylab.analysis.packets.layers import SLIP
from delaylab.analysis.packets.named import by_emulated_link, named
from delaylab.analysis.packets.outliers import outliers
from delaylab.analysis.packets.segments import Segment
from delaylab.analysis.packets.trial import trial_packets
from delaylab.analysis.statistics.quantiles import Summary, refused, summarise
from delaylab.analysis.statistics.runs import spread
from delaylab.analysis.usable import usable
from delaylab.analysis.work import work_of
from delaylab.dataset.records.doubts import each_once
from delaylab.dataset.records.trial import TrialRecord
from delaylab.dataset.store import Study, read_study
from delaylab.progress import Progress, silent


@dataclass(frozen=True)
class Analysed:
    """A study with its groups, so that several readers need one analysis."""

    study: Study
    groups: list[Group]


def analysed(given: Path | Study | Analysed, progress: Progress = silent) -> Analysed:
    """Return a study analysed, if it is not yet; raise `BadInput` for a damaged dataset."""
    if isinstance(given, Analysed):
        return given
    study = given if isinstance(given, Study) else read_study(given)
    return Analysed(study, list(groups(study, progress)))


def groups(study: Study, progress: Progress = silent) -> Iterator[Group]:
    """Yield a study's groups, analysed one at a time, in the order of the factors' levels."""
    together: dict[tuple[str, ...], list[TrialRecord]] = {}
    for trial in study.trials:
        if trial.status == "ok":
            together.setdefault(tuple(trial.factors.values()), []).append(trial)
    in_order = sorted(together, key=lambda levels: _order(study, levels))
    for done, levels in enumerate(in_order):
        trials = together[levels]
        what = in_words(trials[0].factors) or trials[0].id
        progress(f"analysing {what}", done / len(in_order))
        with usable(f"{study.directory}: {', '.join(trial.id for trial in trials)}"):
            group = analyse(study, trials)
        yield group


def analyse(study: Study, trials: list[TrialRecord]) -> Group:
    """Analyse finished trials of the same levels; their tables are read here and not kept.

    Raise ValueError if some have a probe and others have none.
    """
    if len({trial.probed for trial in trials}) > 1:
        raise ValueError("some trials of the same levels have a probe, and others have none")
    return _with_packets(study, trials) if trials[0].probed else _without_packets(study, trials)


def _without_packets(study: Study, trials: list[TrialRecord]) -> Group:
    """Return the group of trials without a probe: work, links and the machine's state."""
    hosts = [study.hosts(trial.id) for trial in trials]
    state = state_without_packets(
        (host, trial.phases) for host, trial in zip(hosts, trials, strict=True)
    )
    no_packets = pl.DataFrame(schema={"phase": pl.String})
    links = [link for trial in trials for link in trial_links(trial, no_packets)]
    recorded = [warning for trial in trials for warning in trial.warnings]
    return Group(
        trials=trials,
        doubts=[
            *each_once(recorded),
            *machine_doubts(state, None, load_name(trials[0]) == REST),
            *link_doubts(links),
            *cpu_time_doubts(trials),
        ],
        machine=GroupMachine(
            state, _reserved(trials, hosts, [times_of(trial.phases) for trial in trials])
        ),
        work=GroupWork(work) if (work := work_of(study, trials)) else None,
        links=GroupLinks(links) if links else None,
    )


def _with_packets(study: Study, trials: list[TrialRecord]) -> Group:
    path = trials[0].path
    clock = study.record.machine.clock
    read = [trial_packets(study, trial) for trial in trials]
    under_load = [each.of(MEASURED) for each in read]
    scheduled = pl.concat(
        [each.table.with_columns(pl.lit(index).alias(TRIAL)) for index, each in enumerate(read)],
        how="diagonal",
    )
    known = [trial_clocks(each.trial, each.alignment) for each in read]
    links = [
        link
        for each in under_load
        for link in trial_links(each.trial, each.table, each.scheduled_by(clock))
    ]
    packets = scheduled.filter(pl.col("phase") != UNTAPPED)
    measured = packets.filter(pl.col("phase") == MEASURED)
    answered = segments.complete(measured, path)
    emulated_link = by_emulated_link(trials[0])
    trips = rtt.round_trips(answered, emulated_link=emulated_link).with_columns(answered[TRIAL])
    of_link = (rtt.LINK, rtt.WITHOUT_LINK) if emulated_link else ()
    parts = named(answered, trials[0])
    summaries = _segments(measured, parts, answered[TRIAL].to_numpy())
    account = accounting.account(segments.as_stamped(packets), trials)
    bounds = {name: off / 1000 for name, off in rtt.one_way_bounds(answered).items()}
    hosts = [study.hosts(trial.id) for trial in trials]
    times = [
        TrialTimes(each.trial.id, each.scheduled_by(clock), intervals(host))
        for each, host in zip(read, hosts, strict=True)
    ]
    state = machine_state(
        [(host, trial.packets) for host, trial in zip(hosts, times, strict=True)],
        [trial.record for trial in times],
    )
    user = trips["app"].drop_nulls().to_numpy()
    work = work_of(study, trials)
    found = GroupPackets(
        samples=_thinned(trips.drop(of_link).with_columns(_usage(answered, times))),
        phases=by_phase(read),
        account=account,
        at_rest=at_rest(read),
        rtt=_summaries(trips, rtt.VANTAGE),
        deltas=_summaries(trips, (*rtt.DELTAS, *of_link)),
        one_way={
            name: refused(delay, bounds.get(name, 0))
            for name, delay in _summaries(trips, rtt.ONE_WAY).items()
        },
        bounds=bounds,
        segments=summaries,
        outliers=int(outliers(user).sum()),
        clocks=[trial for trial in known if trial.alignment.hops],
        slowest=slowest(answered, trips["app"].to_numpy(), parts, times),
        timelines=[timeline(trial, MEASURED) for trial in times],
        loops=[loop for each in under_load if (loop := loop_seen(each))],
    )
    return Group(
        trials=trials,
        doubts=[
            *doubts(trials, measured, account, user, lost_in_downtimes(links)),
            *machine_doubts(state, account, load_name(trials[0]) == REST),
            *clock_doubts(known, _refused(summaries)),
            *link_doubts(links),
            *cpu_time_doubts(trials),
        ],
        machine=GroupMachine(
            state, _reserved(trials, hosts, [windows(trial.packets) for trial in times])
        ),
        packets=found,
        work=GroupWork(work, delays_by_share(trials, times, work)) if work else None,
        links=GroupLinks(links) if links else None,
    )


def _reserved(
    trials: list[TrialRecord], hosts: list[pl.DataFrame], phases: list[list[Window]]
) -> list[ReservedSeen]:
    """Return what others used of reserved CPUs under load; `hosts` records the machine by trial."""
    return [
        seen
        for trial, host, windows_of in zip(trials, hosts, phases, strict=True)
        for seen in reserved_seen(trial, host, windows_of, MEASURED)
    ]


def _refused(parts: list[SegmentSummary]) -> list[tuple[str, float]]:
    return [(p.layer, p.bound_us) for p in parts if p.delay.median.at_most is not None]


def _order(study: Study, levels: tuple[str, ...]) -> list[int]:
    factors = list(study.record.factors.values())
    return [
        known.index(level) if level in known else len(known)
        for known, level in zip(factors, levels, strict=False)
    ]


def _usage(packets: pl.DataFrame, trials: list[TrialTimes]) -> pl.Series:
    """Return `IN_USE` of pooled packets, in their order."""
    keys = [TRIAL, "probe", "seq"]
    known = in_use(trials)
    typed = known.cast({key: packets.schema[key] for key in keys})
    return packets.select(keys).join(typed, on=keys, how="left", maintain_order="left")[IN_USE]


def _thinned(table: pl.DataFrame) -> pl.DataFrame:
    return table[spread(len(table), KEPT)]


def _summaries(trips: pl.DataFrame, names: Iterable[str]) -> dict[str, Summary]:
    found = {name: trips.select(TRIAL, name).drop_nulls() for name in names}
    return {
        name: summarise(by_trial(known[name].to_numpy(), known[TRIAL].to_numpy()))
        for name, known in found.items()
        if len(known)
    }


def _segments(
    measured: pl.DataFrame, parts: list[Segment], trials: NDArray[np.intp]
) -> list[SegmentSummary]:
    """Summarise the slip and each segment; `trials` has the number of each packet's trial."""
    slips = measured.select(TRIAL, "slip_ns").drop_nulls()
    slip = summarise(by_trial(slips["slip_ns"].to_numpy(), slips[TRIAL].to_numpy()))
    found = [SegmentSummary("request", "intended", "sent", SLIP, "sending", False, slip)]
    for part in parts:
        off = part.bound_ns / 1000
        ends = part.leg, part.start, part.end, part.layer, part.direction, part.merged
        delays = refused(summarise(by_trial(part.delay_ns, trials[part.rows])), off)
        found.append(SegmentSummary(*ends, delays, off, part.at))
    return found
