"""Analysis of a study's trials, group by group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from delaylab.api.progress import Progress, silent
from delaylab.api.records import Doubt, each_once
from delaylab_study.analysis.causes.quantiles import causes_of
from delaylab_study.analysis.convergence.recorded import SeenTrial, seen
from delaylab_study.analysis.delay_by_share import delays_by_share
from delaylab_study.analysis.doubts.clocks import clock_doubts
from delaylab_study.analysis.doubts.cpu_time import cpu_time_doubts
from delaylab_study.analysis.doubts.machine import machine_doubts
from delaylab_study.analysis.doubts.machine_state import (
    Window,
    hosts_by_machine,
    machine_state,
    state_without_packets,
    times_of,
)
from delaylab_study.analysis.doubts.packets import doubts, way_doubts
from delaylab_study.analysis.doubts.reserved_cpus import ReservedSeen, reserved_seen
from delaylab_study.analysis.doubts.short_work import short_work
from delaylab_study.analysis.group import (
    REST,
    Group,
    GroupLinks,
    GroupMachine,
    GroupPackets,
    GroupWork,
    OnWay,
    SegmentSummary,
    in_words,
    load_name,
)
from delaylab_study.analysis.links.fidelity import (
    TrialLink,
    link_doubts,
    lost_in_downtimes,
    trial_links,
)
from delaylab_study.analysis.over_time.clean import clean_seen
from delaylab_study.analysis.over_time.slowest import NAMED, SlowPacket, TrialTimes, slowest
from delaylab_study.analysis.over_time.timeline import timeline
from delaylab_study.analysis.over_time.usage import IN_USE, in_use
from delaylab_study.analysis.packets import accounting, rtt
from delaylab_study.analysis.packets.accounting import Account, by_phase
from delaylab_study.analysis.packets.astray import Astray, astray
from delaylab_study.analysis.packets.closed_loop import loop_seen
from delaylab_study.analysis.packets.instrument import at_rest
from delaylab_study.analysis.packets.named import by_emulated_link
from delaylab_study.analysis.packets.outliers import outliers
from delaylab_study.analysis.packets.table import MEASURED, TRIAL, Packets
from delaylab_study.analysis.packets.trial import TrialPackets
from delaylab_study.analysis.pooled import (
    GroupRead,
    Parted,
    on_way,
    read_group,
    segment_summaries,
    summaries,
    without_links,
)
from delaylab_study.analysis.statistics.quantiles import refused
from delaylab_study.analysis.usable import usable
from delaylab_study.analysis.work import work_of
from delaylab_study.dataset.records.trial import TrialRecord
from delaylab_study.dataset.sample_times import by_local_clock
from delaylab_study.dataset.store import Study, read_study


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
    read = read_group(study, trials)
    packets, machine, links = _packets(read), _machine(read), _links(read)
    work = work_of(study, trials)
    return Group(
        trials=trials,
        doubts=_doubts(read, packets, machine, links),
        machine=machine,
        packets=packets,
        work=GroupWork(work, delays_by_share(trials, read.times, work)) if work else None,
        links=GroupLinks(links) if links else None,
        convergence=_convergence(study, trials),
    )


def _packets(read: GroupRead) -> GroupPackets:
    trips, bounds = _round_trips(read)
    ways = [on_way(name, *each) for name, each in read.on.items() if name]
    deltas = (name for name in (*rtt.DELTAS, rtt.LINK, rtt.WITHOUT_LINK) if name in trips.columns)
    way_unknown, off_ways = [len(each.packets) for each, _ in read.elsewhere] or (0, 0)
    loops = (loop_seen(each.of(MEASURED)) for each in read.whole.read)
    lost_ways = (_astray(read, each) for each in read.whole.read)
    every_s = read.whole.every_s
    clean = clean_seen(read.study, read.trials, read.whole.packets, read.whole.trials[0].way)
    return GroupPackets(
        samples=trips.with_columns(_usage(read.whole.answered, read.times)),
        phases=by_phase(read.whole.read),
        account=_account(read, ways),
        at_rest=at_rest(read.whole.read),
        rtt=summaries(trips, rtt.VANTAGE, every_s),
        deltas=summaries(trips, deltas, every_s),
        one_way={
            name: refused(delay, bounds.get(name, 0))
            for name, delay in summaries(trips, rtt.ONE_WAY, every_s).items()
        },
        bounds=bounds,
        segments=_segments(read, ways),
        outliers=int(outliers(trips["app"].drop_nulls().to_numpy()).sum()),
        clocks=[trial for trial in read.clocks if trial.alignment.hops],
        slowest=_slowest([*read.on.values(), *read.elsewhere], read.times),
        timelines=[timeline(trial, MEASURED) for trial in read.times],
        loops=[loop for loop in loops if loop],
        ways=ways,
        way_unknown=way_unknown,
        off_ways=off_ways,
        astray=[each for each in lost_ways if each],
        clean=clean,
        judged=clean.samples if clean else None,
        causes=causes_of(read.study, read.trials),
    )


def _round_trips(read: GroupRead) -> tuple[pl.DataFrame, dict[str, float]]:
    """Return the round trips of the packets that came back in ns, and the bounds of some in µs."""
    answered = read.whole.answered
    less, less_off_ns = without_links(answered, read.on.values())
    bounds = {name: off_ns / 1000 for name, off_ns in rtt.one_way_bounds(answered).items()}
    if less_off_ns:
        bounds[rtt.WITHOUT_LINKS] = less_off_ns / 1000
    trips = rtt.round_trips(answered, emulated_link=by_emulated_link(read.trials[0]))
    columns = [*trips.get_columns(), answered.scheduled[TRIAL], less]
    del trips  # `small` frees each column when it has made a smaller one of it
    return rtt.small(columns), bounds


def _account(read: GroupRead, ways: list[OnWay]) -> Account:
    account = read.whole.account()
    if not ways:
        return account
    of_each = {each.way: each.account for each in ways}
    return accounting.of_ways(account, of_each, [each.account() for each, _ in read.elsewhere])


def _segments(read: GroupRead, ways: list[OnWay]) -> list[SegmentSummary]:
    """Return the slip of all packets, and the segments of each way."""
    if not ways:
        return segment_summaries(*read.on[""])
    return [
        *segment_summaries(read.whole, []),
        *(part for each in ways for part in each.segments[1:]),
    ]


def _astray(read: GroupRead, packets: TrialPackets) -> Astray | None:
    if not packets.trial.live_ways:
        return None
    scheduled = packets.scheduled_by(read.clock).scheduled
    return astray(packets.trial, read.study.stamps(packets.trial.id), scheduled, read.clock)


def _machine(read: GroupRead) -> GroupMachine:
    state = machine_state(
        [
            (host, trial.packets.scheduled)
            for host, trial in zip(read.hosts, read.times, strict=True)
        ],
        [trial.record for trial in read.times],
    )
    states = {
        name: machine_state(
            (host, each.scheduled_by(read.study.record.machines[name].clock).scheduled)
            for host, each in zip(tables, read.whole.read, strict=True)
        )
        for name, tables in read.others.items()
    }
    return GroupMachine(state, _reserved(read.trials, read.hosts, read.windows), states)


def _links(read: GroupRead) -> list[TrialLink]:
    return [
        link
        for each, trial in zip(read.by_way, read.trials, strict=True)
        for link in trial_links(
            trial,
            [(one.trial.way, one.packets.of(MEASURED)) for one in each.on.values()],
            each.whole.of(MEASURED).scheduled_by(read.clock).scheduled,
        )
    ]


def _doubts(
    read: GroupRead, packets: GroupPackets, machine: GroupMachine, links: list[TrialLink]
) -> list[Doubt]:
    whole, account = read.whole, packets.account
    user = packets.samples["app"].drop_nulls().to_numpy()
    in_downtimes = lost_in_downtimes(links)
    return [
        *doubts(whole.trials, whole.measured, account, user, in_downtimes, packets.rtt.get("app")),
        *way_doubts(account, [each.packets.scheduled for each, _ in read.elsewhere]),
        *machine_doubts(
            machine.state,
            account,
            load_name(read.trials[0]) == REST,
            machine.others,
            in_downtimes,
            has_events=_have_events(read.trials),
        ),
        *clock_doubts(read.clocks, _refused(packets.segments)),
        *link_doubts(links),
        *cpu_time_doubts(read.trials),
        *short_work(read.trials, read.windows, MEASURED),
    ]


def _convergence(study: Study, trials: list[TrialRecord]) -> list[SeenTrial]:
    return [found for trial in trials if (found := seen(study, trial)) is not None]


def _slowest(packets: Iterable[Parted], times: list[TrialTimes]) -> list[SlowPacket]:
    """Return the slowest packets of all, each compared with those that went its way."""
    found = [
        slow
        for each, parts in packets
        for slow in slowest(
            each.answered.scheduled, rtt.user_rtts(each.answered).to_numpy(), parts, times
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
