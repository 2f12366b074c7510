"""Analysis of the trials of one combination of levels, taken together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from delaylab.analysis.delay_by_share import DelayByShare, delays_by_share
from delaylab.analysis.doubts.clocks import TrialClocks, by_machine, clock_doubts, trial_clocks
from delaylab.analysis.doubts.cpu_time import cpu_time_doubts
from delaylab.analysis.doubts.machine import machine_doubts
from delaylab.analysis.doubts.machine_state import (
    MachineState,
    intervals,
    machine_state,
    state_without_packets,
)
from delaylab.analysis.doubts.packets import doubts
from delaylab.analysis.links.fidelity import TrialLink, link_doubts, trial_links
from delaylab.analysis.over_time.slowest import TRIAL, SlowPacket, TrialTimes, slowest
from delaylab.analysis.over_time.timeline import Timeline, timeline
from delaylab.analysis.over_time.usage import IN_USE, in_use
from delaylab.analysis.packets import accounting, rtt, segments
from delaylab.analysis.packets.accounting import Account, PhaseAccount, by_phase
from delaylab.analysis.packets.closed_loop import LoopSeen, loop_seen
from delaylab.analysis.packets.instrument import UNTAPPED, AtRest, at_rest
from delaylab.analysis.packets.layers import SLIP
from delaylab.analysis.packets.named import named
from delaylab.analysis.packets.outliers import outliers
from delaylab.analysis.packets.segments import Segment
from delaylab.analysis.statistics.quantiles import Summary, refused, summarise
from delaylab.analysis.statistics.runs import Floats, spread
from delaylab.analysis.usable import usable
from delaylab.analysis.work import Work, work_of
from delaylab.dataset.records.doubts import Doubt, each_once
from delaylab.dataset.records.trial import TrialRecord
from delaylab.dataset.store import Study
from delaylab.progress import Progress, silent

# Largest number of packets of a group that is kept for charts and claims, spread over all its
# packets, so that a dataset of any size fits into memory.
KEPT = 20_000
# Phase of the packets sent under the load; those at rest before and after are a reference only.
MEASURED = "load"
REST = "rest"
# Columns of a group's samples.
SAMPLES: dict[str, type[pl.DataType]] = {
    **dict.fromkeys((*rtt.VANTAGE, *rtt.DELTAS, *rtt.ONE_WAY), pl.Int64),
    TRIAL: pl.Int32,
    IN_USE: pl.Boolean,
}
# Levels that say nothing without the name of their factor.
ANSWERS = frozenset({"none", "yes", "no", "on", "off", "true", "false", "default"})


@dataclass(frozen=True, slots=True)
class SegmentSummary:
    """One-way delay of a segment in µs; `merged` if it spans a point that saw nothing.

    `bound_us` is the largest error of its delays if two clocks stamped its ends, else 0. Quantiles
    smaller than that are refused. `at` names the routers and links of a segment on a way over
    routers, if all trials agree.
    """

    leg: str
    start: str
    end: str
    layer: str
    direction: str
    merged: bool
    delay: Summary
    bound_us: float = 0.0
    at: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """Analysed trials of one combination of levels. Summaries are in µs, `samples` in ns.

    `rtt` has the RTT at each vantage point, `deltas` the round-trip differences in whiteaker2011's
    terms, `one_way` the sending and the receiving delay. `samples` holds all of these for at most
    `KEPT` packets, each with the number of its trial (`TRIAL`), and with whether the machine was in
    use when it was sent (`IN_USE`). `outliers` counts flagged user
    RTTs, none of which is dropped. `at_rest` are the user RTTs with taps on and off; packets sent
    with the taps off count nowhere else. `bounds` gives the largest error of the one-way delays in
    µs, `clocks` the alignment of each trial with more than one clock. `links` are the links with
    conditions, each direction in each trial. `phases` has the fates of the packets of each phase,
    by leg; `account` covers all phases with taps. `sent` counts the packets scheduled under load.
    `slowest` are the slowest of them, `timelines` the user RTTs of each trial over time, `loops`
    what its packets show of a closed loop, `work` what the nodes got done beside it, `by_share` the
    delays beside a node's share of that work.

    Trials without a probe have no packets: `probed` is False, `account` and `at_rest` are None, and
    everything else about packets is empty.
    """

    trials: list[TrialRecord]
    rtt: dict[str, Summary]
    deltas: dict[str, Summary]
    one_way: dict[str, Summary]
    segments: list[SegmentSummary]
    account: Account | None
    phases: list[PhaseAccount]
    outliers: int
    doubts: list[Doubt]
    samples: pl.DataFrame
    machine: MachineState
    at_rest: AtRest | None
    bounds: dict[str, float]
    clocks: list[TrialClocks]
    links: list[TrialLink]
    sent: int = 0
    slowest: list[SlowPacket] = field(default_factory=list)
    timelines: list[Timeline] = field(default_factory=list)
    loops: list[LoopSeen] = field(default_factory=list)
    work: list[Work] = field(default_factory=list)
    by_share: list[DelayByShare] = field(default_factory=list)

    @property
    def probed(self) -> bool:
        """Return True if packets were sent."""
        return self.trials[0].probed

    @property
    def answered(self) -> int:
        """Return the number of packets under load that were answered."""
        return self.rtt["app"].n if "app" in self.rtt else 0

    @property
    def lost(self) -> int:
        """Return the number of packets under load that were sent and never answered."""
        return sum(phase.lost.total for phase in self.phases if phase.phase == MEASURED)

    def series(self, name: str) -> list[Floats]:
        """Return the delays by name in µs, one series for each trial that has some."""
        delays_ns, trials = self.samples[name], self.samples[TRIAL]
        if delays_ns.null_count():
            known = delays_ns.is_not_null()
            delays_ns, trials = delays_ns.filter(known), trials.filter(known)
        return _by_trial(delays_ns.to_numpy() / 1000, trials.to_numpy())

    @property
    def factors(self) -> dict[str, str]:
        """Return the levels that these trials share, by factor."""
        return self.trials[0].factors

    @property
    def kind(self) -> str:
        """Return the kind of the sender: `native`, `shared`, `netns`, …; `unknown` if none."""
        sender = self.trials[0].sender
        return sender.kind if sender else "unknown"

    @property
    def load(self) -> str:
        """Return the names of the loads and work, joined by `+`; `rest` if there is none."""
        return load_name(self.trials[0])

    @property
    def label(self) -> str:
        """Return the levels, joined for a reader.

        Each has its factor's name, unless all speak for themselves: `native, rest` does, and
        `0, none` is `delay=0 load=none`.
        """
        levels = list(self.factors.values())
        if levels and len(set(levels)) == len(levels) and all(map(_is_telling, levels)):
            return ", ".join(levels)
        named = (f"{factor}={level}" for factor, level in self.factors.items())
        return " ".join(named) or self.trials[0].id


def _is_telling(level: str) -> bool:
    """Return True if a level is understood without its factor: a word that is not a mere answer."""
    return level[:1].isalpha() and level not in ANSWERS


def load_name(trial: TrialRecord) -> str:
    """Return the names of the trial's loads and work, whatever the study calls its levels."""
    names = sorted({load.load for load in trial.loads} | {each.work for each in trial.work})
    return "+".join(names) or REST


def groups(study: Study, progress: Progress = silent) -> Iterator[Group]:
    """Yield a study's groups, analysed one at a time, in the order of the factors' levels."""
    together: dict[tuple[str, ...], list[TrialRecord]] = {}
    for trial in study.trials:
        if trial.status == "ok":
            together.setdefault(tuple(trial.factors.values()), []).append(trial)
    in_order = sorted(together, key=lambda levels: _order(study, levels))
    for done, levels in enumerate(in_order):
        trials = together[levels]
        progress(f"analysing {', '.join(levels) or trials[0].id}", done / len(in_order))
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
    state = state_without_packets((study.hosts(trial.id), trial.phases) for trial in trials)
    no_packets = pl.DataFrame(schema={"phase": pl.String})
    links = [link for trial in trials for link in trial_links(trial, no_packets)]
    recorded = [warning for trial in trials for warning in trial.warnings]
    return Group(
        trials=trials,
        rtt={},
        deltas={},
        one_way={},
        segments=[],
        account=None,
        phases=[],
        outliers=0,
        doubts=[
            *each_once(recorded),
            *machine_doubts(state, None, load_name(trials[0]) == REST),
            *link_doubts(links),
            *cpu_time_doubts(trials),
        ],
        samples=pl.DataFrame(schema=SAMPLES),
        machine=state,
        at_rest=None,
        bounds={},
        clocks=[],
        links=links,
        work=work_of(study, trials),
    )


def _with_packets(study: Study, trials: list[TrialRecord]) -> Group:
    path = trials[0].path
    clock = study.record.machine.clock
    both = [segments.aligned(study.stamps(t.id), study.probes(t.id), path, clock) for t in trials]
    by_trial = [(trial, table) for trial, (table, _) in zip(trials, both, strict=True)]
    scheduled = pl.concat(
        [table.with_columns(pl.lit(index).alias(TRIAL)) for index, (table, _) in enumerate(both)],
        how="diagonal",
    )
    known = [
        trial_clocks(trial, alignment) for trial, (_, alignment) in zip(trials, both, strict=True)
    ]
    clocks = [trial for trial in known if trial.alignment.hops]
    links = [
        link
        for trial, (table, _) in zip(trials, both, strict=True)
        for link in trial_links(trial, table.filter(pl.col("phase") == MEASURED))
    ]
    packets = scheduled.filter(pl.col("phase") != UNTAPPED)
    measured = packets.filter(pl.col("phase") == MEASURED)
    answered = segments.complete(measured, path) if path.reply else measured.clear()
    trips = rtt.round_trips(answered).with_columns(answered[TRIAL])
    found = named(answered, trials[0])
    parts = _segments(measured, found, answered[TRIAL].to_numpy())
    account = accounting.account(segments.as_stamped(packets), trials)
    bounds = {name: off / 1000 for name, off in rtt.one_way_bounds(answered).items()}
    summaries = _summaries(trips, rtt.VANTAGE)
    hosts = [study.hosts(trial.id) for trial in trials]
    times = [
        TrialTimes(trial.id, by_machine(table, alignment, clock), intervals(host))
        for trial, host, (table, alignment) in zip(trials, hosts, both, strict=True)
    ]
    state = machine_state(
        [(host, trial.packets) for host, trial in zip(hosts, times, strict=True)],
        [trial.record for trial in times],
    )
    user = trips["app"].drop_nulls().to_numpy()
    work = work_of(study, trials)
    return Group(
        trials=trials,
        rtt=summaries,
        deltas=_summaries(trips, rtt.DELTAS),
        one_way={
            name: refused(delay, bounds.get(name, 0))
            for name, delay in _summaries(trips, rtt.ONE_WAY).items()
        },
        segments=parts,
        account=account,
        phases=by_phase([(t, segments.as_stamped(table)) for t, table in by_trial]),
        outliers=int(outliers(user).sum()),
        doubts=[
            *doubts(trials, measured, account, user),
            *machine_doubts(state, account, load_name(trials[0]) == REST),
            *clock_doubts(known, _refused(parts)),
            *link_doubts(links),
            *cpu_time_doubts(trials),
        ],
        samples=_thinned(trips.with_columns(_usage(answered, times))),
        machine=state,
        at_rest=at_rest(by_trial),
        bounds=bounds,
        clocks=clocks,
        links=links,
        sent=len(measured),
        slowest=slowest(answered, trips["app"].to_numpy(), found, times),
        timelines=[timeline(trial, MEASURED) for trial in times],
        loops=[
            loop
            for trial, table in by_trial
            if (loop := loop_seen(trial, table.filter(pl.col("phase") == MEASURED)))
        ],
        work=work,
        by_share=delays_by_share(trials, times, work),
    )


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
        name: summarise(_by_trial(known[name].to_numpy(), known[TRIAL].to_numpy()))
        for name, known in found.items()
        if len(known)
    }


def _by_trial(values: NDArray[Any], trials: NDArray[np.intp]) -> list[NDArray[Any]]:
    """Return the values of each trial, given the number of each value's trial in rising order."""
    return np.split(values, np.flatnonzero(np.diff(trials)) + 1) if len(values) else []


def _segments(
    measured: pl.DataFrame, parts: list[Segment], trials: NDArray[np.intp]
) -> list[SegmentSummary]:
    """Summarise the slip and each segment; `trials` has the number of each packet's trial."""
    slips = measured.select(TRIAL, "slip_ns").drop_nulls()
    slip = summarise(_by_trial(slips["slip_ns"].to_numpy(), slips[TRIAL].to_numpy()))
    found = [SegmentSummary("request", "intended", "sent", SLIP, "sending", False, slip)]
    for part in parts:
        off = part.bound_ns / 1000
        ends = part.leg, part.start, part.end, part.layer, part.direction, part.merged
        delays = refused(summarise(_by_trial(part.delay_ns, trials[part.rows])), off)
        found.append(SegmentSummary(*ends, delays, off, part.at))
    return found
