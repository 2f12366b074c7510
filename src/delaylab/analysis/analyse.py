"""Analysis of a study's trials, group by group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from delaylab.analysis.convergence.recorded import SeenTrial, seen
from delaylab.analysis.delay_by_share import delays_by_share
from delaylab.analysis.doubts.clocks import TrialClocks, clock_doubts, trial_clocks
from delaylab.analysis.doubts.cpu_time import cpu_time_doubts
from delaylab.analysis.doubts.machine import machine_doubts
from delaylab.analysis.doubts.machine_state import (
    Window,
    hosts_by_machine,
    intervals,
    machine_state,
    state_without_packets,
    times_of,
    windows,
)
from delaylab.analysis.doubts.packets import doubts, way_doubts
from delaylab.analysis.doubts.reserved_cpus import ReservedSeen, reserved_seen
from delaylab.analysis.doubts.short_work import short_work
from delaylab.analysis.group import (
    REST,
    Group,
    GroupLinks,
    GroupMachine,
    GroupPackets,
    GroupWork,
    SegmentSummary,
    in_words,
    load_name,
)
from delaylab.analysis.links.fidelity import link_doubts, lost_in_downtimes, trial_links
from delaylab.analysis.over_time.slowest import NAMED, SlowPacket, TrialTimes, slowest
from delaylab.analysis.over_time.timeline import timeline
from delaylab.analysis.over_time.usage import IN_USE, in_use
from delaylab.analysis.packets import accounting, rtt
from delaylab.analysis.packets.accounting import by_phase
from delaylab.analysis.packets.astray import astray
from delaylab.analysis.packets.closed_loop import loop_seen
from delaylab.analysis.packets.instrument import at_rest
from delaylab.analysis.packets.named import by_emulated_link
from delaylab.analysis.packets.outliers import outliers
from delaylab.analysis.packets.segments import Segment
from delaylab.analysis.packets.table import MEASURED, TRIAL, Packets
from delaylab.analysis.packets.trial import PacketsByWay, packets_by_way
from delaylab.analysis.pooled import (
    Pooled,
    on_way,
    pooled,
    pooled_by_way,
    pooled_elsewhere,
    segment_summaries,
    summaries,
    without_links,
)
from delaylab.analysis.statistics.quantiles import refused
from delaylab.analysis.usable import usable
from delaylab.analysis.work import work_of
from delaylab.dataset.records.doubts import each_once
from delaylab.dataset.records.trial import TrialRecord
from delaylab.dataset.sample_times import by_local_clock
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
    by_machine = hosts_by_machine(study, trials)
    states = {
        name: state_without_packets(
            (by_local_clock(host, trial.ahead_ns), trial.phases)
            for host, trial in zip(hosts, trials, strict=True)
        )
        for name, hosts in by_machine.items()
    }
    (main, hosts), *_ = by_machine.items()
    state = states.pop(main)
    links = [link for trial in trials for link in trial_links(trial)]
    recorded = [warning for trial in trials for warning in trial.warnings]
    return Group(
        trials=trials,
        doubts=[
            *each_once(recorded),
            *machine_doubts(
                state,
                None,
                load_name(trials[0]) == REST,
                others=states,
                has_events=_have_events(trials),
            ),
            *link_doubts(links),
            *cpu_time_doubts(trials),
        ],
        machine=GroupMachine(
            state, _reserved(trials, hosts, [times_of(trial.phases) for trial in trials]), states
        ),
        work=GroupWork(work) if (work := work_of(study, trials)) else None,
        links=GroupLinks(links) if links else None,
        convergence=_convergence(study, trials),
    )


def _have_events(trials: Sequence[TrialRecord]) -> bool:
    """Return True if routing daemons worked on events of the timeline."""
    return any(event.waited is not None for trial in trials for event in trial.events)


def _with_packets(study: Study, trials: list[TrialRecord]) -> Group:
    by_machine = hosts_by_machine(study, trials)
    (main, hosts), *others = by_machine.items()
    clock = study.record.machines[main].clock
    by_way = [packets_by_way(study, trial) for trial in trials]
    read = [each.whole for each in by_way]
    whole, ways = pooled(dict(enumerate(read))), pooled_by_way(by_way)
    elsewhere = pooled_elsewhere(by_way)
    measured, answered = whole.measured, whole.answered
    parts = {name: each.segments() for name, each in (ways or {"": whole}).items()}
    on_ways = [on_way(name, each, parts[name]) for name, each in ways.items()]
    known = [clocks for each in by_way for clocks in _clocks(each)]
    links = [
        link
        for each, trial in zip(by_way, trials, strict=True)
        for link in trial_links(
            trial,
            [(one.trial.way, one.packets.of(MEASURED)) for one in each.on.values()],
            each.whole.of(MEASURED).scheduled_by(clock).scheduled,
        )
    ]
    emulated_link = by_emulated_link(trials[0])
    trips = rtt.round_trips(answered, emulated_link=emulated_link)
    trips = trips.with_columns(answered.scheduled[TRIAL])
    of_link = (rtt.LINK, rtt.WITHOUT_LINK) if emulated_link else ()
    less, less_off = without_links(
        answered, [(each, parts[name]) for name, each in (ways or {"": whole}).items()]
    )
    trips = trips.with_columns(less)
    found_segments = segment_summaries(whole, [] if ways else parts[""])
    found_segments += [part for each in on_ways for part in each.segments[1:]]
    account = whole.account()
    if elsewhere:
        of_each = {each.way: each.account for each in on_ways}
        account = accounting.of_ways(account, of_each, [each.account() for each in elsewhere])
    bounds = {name: off / 1000 for name, off in rtt.one_way_bounds(answered).items()}
    if less_off:
        bounds[rtt.WITHOUT_LINKS] = less_off / 1000
    times = [
        TrialTimes(each.trial.id, each.scheduled_by(clock), intervals(host))
        for each, host in zip(read, hosts, strict=True)
    ]
    state = machine_state(
        [(host, trial.packets.scheduled) for host, trial in zip(hosts, times, strict=True)],
        [trial.record for trial in times],
    )
    states = {
        name: machine_state(
            (host, each.scheduled_by(study.record.machines[name].clock).scheduled)
            for host, each in zip(tables, read, strict=True)
        )
        for name, tables in others
    }
    user = trips["app"].drop_nulls().to_numpy()
    in_downtimes = lost_in_downtimes(links)
    work = work_of(study, trials)
    of_each_packet = [(each, parts[name]) for name, each in (ways or {"": whole}).items()]
    of_each_packet += [(each, each.segments()) for each in elsewhere]
    way_unknown, off_ways = [len(each.packets) for each in elsewhere] or (0, 0)
    found = GroupPackets(
        samples=trips.with_columns(_usage(answered, times)),
        phases=by_phase(read),
        account=account,
        at_rest=at_rest(read),
        rtt=summaries(trips, rtt.VANTAGE),
        deltas=summaries(trips, (*rtt.DELTAS, *of_link)),
        one_way={
            name: refused(delay, bounds.get(name, 0))
            for name, delay in summaries(trips, rtt.ONE_WAY).items()
        },
        bounds=bounds,
        segments=found_segments,
        outliers=int(outliers(user).sum()),
        clocks=[trial for trial in known if trial.alignment.hops],
        slowest=_slowest(of_each_packet, times),
        timelines=[timeline(trial, MEASURED) for trial in times],
        loops=[loop for each in read if (loop := loop_seen(each.of(MEASURED)))],
        ways=on_ways,
        way_unknown=way_unknown,
        off_ways=off_ways,
        astray=[
            found
            for each in read
            if (
                found := astray(
                    each.trial,
                    study.stamps(each.trial.id),
                    each.scheduled_by(clock).scheduled,
                    clock,
                )
            )
        ],
    )
    return Group(
        trials=trials,
        doubts=[
            *doubts(whole.trials, measured, account, user, in_downtimes, found.rtt.get("app")),
            *way_doubts(account, [each.packets.scheduled for each in elsewhere]),
            *machine_doubts(
                state,
                account,
                load_name(trials[0]) == REST,
                states,
                in_downtimes,
                has_events=_have_events(trials),
            ),
            *clock_doubts(known, _refused(found_segments)),
            *link_doubts(links),
            *cpu_time_doubts(trials),
            *short_work(trials, [windows(trial.packets.scheduled) for trial in times], MEASURED),
        ],
        machine=GroupMachine(
            state,
            _reserved(trials, hosts, [windows(trial.packets.scheduled) for trial in times]),
            states,
        ),
        packets=found,
        work=GroupWork(work, delays_by_share(trials, times, work)) if work else None,
        links=GroupLinks(links) if links else None,
        convergence=_convergence(study, trials),
    )


def _convergence(study: Study, trials: list[TrialRecord]) -> list[SeenTrial]:
    return [found for trial in trials if (found := seen(study, trial)) is not None]


def _clocks(packets: PacketsByWay) -> Iterator[TrialClocks]:
    """Yield the alignment of a trial's clocks, and that of each way with clocks of its own."""
    shared = packets.whole.alignment
    yield trial_clocks(packets.whole.trial, shared, packets.whole.compared)
    for each in packets.on.values():
        if not {*each.alignment.clocks.values()} <= {*shared.clocks.values()}:
            yield trial_clocks(each.trial, each.alignment)


def _slowest(
    packets: Iterable[tuple[Pooled, list[Segment]]], times: list[TrialTimes]
) -> list[SlowPacket]:
    """Return the slowest packets of all, each compared with those that went its way."""
    found = [
        slow
        for each, parts in packets
        for slow in slowest(
            each.answered.scheduled, rtt.round_trips(each.answered)["app"].to_numpy(), parts, times
        )
    ]
    return sorted(found, key=lambda slow: -slow.rtt_us)[:NAMED]


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


def _usage(packets: Packets, trials: list[TrialTimes]) -> pl.Series:
    """Return `IN_USE` of pooled packets, in their order."""
    keys = [TRIAL, "probe", "seq"]
    known = in_use(trials)
    scheduled = packets.scheduled
    typed = known.cast({key: scheduled.schema[key] for key in keys})
    return scheduled.select(keys).join(typed, on=keys, how="left", maintain_order="left")[IN_USE]
