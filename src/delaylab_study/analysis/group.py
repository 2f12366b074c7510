"""Trials of one combination of levels, taken together: what their analysis found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from delaylab.api.kinds import facts_of
from delaylab.api.records import Doubt, DoubtKind
from delaylab_study.analysis.causes.quantiles import GroupCauses
from delaylab_study.analysis.convergence.recorded import SeenEvent, SeenTrial
from delaylab_study.analysis.delay_by_share import DelayByShare
from delaylab_study.analysis.doubts.clocks import TrialClocks
from delaylab_study.analysis.doubts.machine_state import MachineState
from delaylab_study.analysis.doubts.reserved_cpus import ReservedSeen
from delaylab_study.analysis.links.fidelity import TrialLink
from delaylab_study.analysis.over_time.clean import CleanSamples, CleanSeen
from delaylab_study.analysis.over_time.slowest import SlowPacket
from delaylab_study.analysis.over_time.timeline import RttsOverTime
from delaylab_study.analysis.packets.accounting import Account, PhaseAccount
from delaylab_study.analysis.packets.astray import Astray
from delaylab_study.analysis.packets.closed_loop import LoopSeen
from delaylab_study.analysis.packets.instrument import AtRest
from delaylab_study.analysis.packets.table import MEASURED, TRIAL
from delaylab_study.analysis.statistics.quantiles import Summary
from delaylab_study.analysis.statistics.runs import Floats, by_trial
from delaylab_study.analysis.work import Work
from delaylab_study.dataset.records.trial import TrialRecord

REST = "rest"
"""The name of the load of trials that have none."""
ANSWERS = frozenset({"none", "yes", "no", "on", "off", "true", "false", "default"})
"""Levels that say nothing without the name of their factor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentSummary:
    """The one-way delay of a segment in µs; `merged` if it spans a point that saw nothing.

    `bound_us` is the largest error of its delays if two clocks stamped its ends, else 0. Quantiles
    smaller than that are refused. `at` names the routers and links of a segment on a way over
    routers, if all trials agree. `way` is the way of its packets, "" if all packets went one.
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
    way: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OnWay:
    """The packets of a group that took one way; the fields are as in `GroupPackets`.

    `trials` are the records of the trials as if they had this way alone.
    """

    way: str
    trials: list[TrialRecord]
    packets: int
    phases: list[PhaseAccount]
    account: Account
    rtt: dict[str, Summary]
    segments: list[SegmentSummary]


@dataclass(frozen=True, slots=True)
class GroupPackets:
    """Packets of a group of trials. Summaries are in µs, `samples` in ns.

    `rtt` has the RTT at each vantage point, `deltas` the differences between them, `one_way` the
    sending and the receiving delay. `samples` holds all of these for every packet, each with the
    number of its trial (`TRIAL`), and with whether the machine was in use when it was sent
    (`IN_USE`). `outliers` counts flagged user RTTs, none of which is dropped. `at_rest` are the
    user RTTs with taps on and off; packets sent with the taps off count nowhere else. `bounds`
    gives the largest error of the one-way delays in µs, `clocks` the alignment of each trial with
    more than one clock. `phases` has the fates of the packets of each phase, by leg; `account`
    covers all phases with taps. `slowest` are the slowest packets under load, `timelines` the user
    RTTs of each trial over time, `loops` what its packets show of a closed loop, `astray` where
    packets were lost or went in circles if routing daemons decided their ways. `clean` is what the
    use of the sender's machine says of packets, None if the probe has no `clean`; `judged` are
    their delays. `causes` says what packets waited for near quantiles of the RTT, and what the
    slowest ones did, if that was recorded.
    """

    samples: pl.DataFrame
    phases: list[PhaseAccount]
    account: Account
    at_rest: AtRest
    rtt: dict[str, Summary] = field(default_factory=dict)
    deltas: dict[str, Summary] = field(default_factory=dict)
    one_way: dict[str, Summary] = field(default_factory=dict)
    bounds: dict[str, float] = field(default_factory=dict)
    segments: list[SegmentSummary] = field(default_factory=list)
    outliers: int = 0
    clocks: list[TrialClocks] = field(default_factory=list)
    slowest: list[SlowPacket] = field(default_factory=list)
    timelines: list[RttsOverTime] = field(default_factory=list)
    loops: list[LoopSeen] = field(default_factory=list)
    ways: list[OnWay] = field(default_factory=list)
    way_unknown: int = 0
    off_ways: int = 0
    astray: list[Astray] = field(default_factory=list)
    clean: CleanSeen | None = None
    judged: CleanSamples | None = None
    causes: GroupCauses = field(default_factory=GroupCauses)
    _of_trials: dict[tuple[str, ...], dict[int, pl.DataFrame]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def of_trials(self, *names: str) -> dict[int, pl.DataFrame]:
        """Return the packets that have all of the named values, by the number of their trial.

        Delays are in µs. Trials without such packets are left out. Claims ask for the same packets
        many times, so they are kept.
        """
        if names not in self._of_trials:
            columns = [self.samples[name] for name in (TRIAL, *names)]
            if any(column.null_count() for column in columns):
                columns = pl.DataFrame(columns).drop_nulls().get_columns()
            trials, *values = columns
            known = pl.DataFrame(
                [
                    pl.Series(value.name, value.to_numpy() / 1000)
                    if value.dtype.is_integer()
                    else value
                    for value in values
                ]
            )
            self._of_trials[names] = {
                trial: known[first:after] for trial, first, after in stretches(trials.to_numpy())
            }
        return self._of_trials[names]

    def series(self, name: str) -> list[Floats]:
        """Return the delays by name in µs, one series for each trial that has some."""
        delays_ns, trials = self.samples[name], self.samples[TRIAL]
        if delays_ns.null_count():
            known = delays_ns.is_not_null()
            delays_ns, trials = delays_ns.filter(known), trials.filter(known)
        return by_trial(delays_ns.to_numpy() / 1000, trials.to_numpy())


@dataclass(frozen=True, slots=True)
class GroupWork:
    """Work of the nodes, and the delays of packets beside a node's share of it."""

    done: list[Work]
    by_share: list[DelayByShare] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class GroupLinks:
    """Fidelity of the links with conditions: each direction in each trial."""

    directions: list[TrialLink]


@dataclass(frozen=True, slots=True)
class GroupMachine:
    """The state of the machines, and what others used of CPUs that the lab reserves for some nodes.

    `state` is that of the sender's machine, the study's first one without a probe; `others` has
    those of all other machines by name.
    """

    state: MachineState
    reserved: list[ReservedSeen] = field(default_factory=list)
    others: dict[str, MachineState] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Group:
    """Analysed trials of one combination of levels: their records, their doubts, and sections.

    A section is None if the trials have no such thing: packets without a probe, work without a
    job, links without conditions. Every trial records its machine. `convergence` has the trials
    whose timeline has events.
    """

    trials: list[TrialRecord]
    doubts: list[Doubt]
    machine: GroupMachine
    packets: GroupPackets | None = None
    work: GroupWork | None = None
    links: GroupLinks | None = None
    convergence: list[SeenTrial] = field(default_factory=list)
    way: str = ""

    def by_way(self) -> list[Group]:
        """Split the group by way: one group per way, with only that way's packets.

        With one way, or without packets, that is the group itself.
        """
        packets = self.packets
        if packets is None or not packets.ways:
            return [self]
        return [
            replace(
                self,
                trials=way.trials,
                packets=replace(
                    packets,
                    phases=way.phases,
                    account=way.account,
                    rtt=way.rtt,
                    segments=way.segments,
                    ways=[],
                ),
                way=way.way,
            )
            for way in packets.ways
        ]

    @property
    def events(self) -> list[SeenEvent]:
        """Return the events of all trials, trial by trial."""
        return [event for trial in self.convergence for event in trial.events]

    @property
    def probed(self) -> bool:
        """Return True if packets were sent."""
        return self.packets is not None

    @property
    def works(self) -> list[Work]:
        """Return what the nodes got done of each work, nothing if there was none."""
        return self.work.done if self.work else []

    @property
    def directions(self) -> list[TrialLink]:
        """Return the directions of links with conditions, nothing if there were none."""
        return self.links.directions if self.links else []

    @property
    def rtt(self) -> dict[str, Summary]:
        """Return the RTT at each vantage point in µs, nothing without packets."""
        return self.packets.rtt if self.packets else {}

    @property
    def deltas(self) -> dict[str, Summary]:
        """Return the differences between these RTTs in µs, nothing without packets."""
        return self.packets.deltas if self.packets else {}

    @property
    def segments(self) -> list[SegmentSummary]:
        """Return the one-way delay of each segment in µs, nothing without packets."""
        return self.packets.segments if self.packets else []

    @property
    def answered(self) -> int:
        """Return the number of packets under load that were answered."""
        return self.rtt["app"].n if "app" in self.rtt else 0

    @property
    def sent(self) -> int:
        """Return the number of packets under load that the sender's kernel took."""
        return sum(phase.sent for phase in self._under_load)

    @property
    def lost(self) -> int:
        """Return the number of packets under load that were sent and never answered."""
        return sum(phase.lost.total for phase in self._under_load)

    @property
    def _under_load(self) -> list[PhaseAccount]:
        phases = self.packets.phases if self.packets else []
        return [phase for phase in phases if phase.phase == MEASURED]

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
    def emulated(self) -> bool:
        """Return True if virtual machines of the lab were emulated in software in some trial."""
        warnings = (warning for trial in self.trials for warning in trial.warnings)
        return any(warning.kind == DoubtKind.EMULATED for warning in warnings)

    @property
    def emulation(self) -> str:
        """Return in words that virtual machines were emulated, "" if none were."""
        if not self.emulated:
            return ""
        return "emulated" if facts_of(self.kind).emulated else "with emulated virtual machines"

    @property
    def load(self) -> str:
        """Return the names of the loads and work, joined by `+`; `rest` if there is none."""
        return load_name(self.trials[0])

    @property
    def label(self) -> str:
        """Return the levels in words; the trial's id if there are none."""
        return in_words(self.factors) or self.trials[0].id

    def label_of(self, trial: str) -> str:
        """Return the levels in words, with the repeat of this trial if there are several."""
        repeats = {each.id: each.repeat for each in self.trials}
        return f"{self.label}, repeat {repeats[trial]}" if len(repeats) > 1 else self.label


def in_words(levels: Mapping[str, str]) -> str:
    """Return levels by factor, joined for a reader.

    Each has its factor's name, unless all speak for themselves: `native, rest` does, and `0, none`
    is `delay=0 load=none`.
    """
    told = list(levels.values())
    if len(set(told)) == len(told) and all(map(_is_telling, told)):
        return ", ".join(told)
    return " ".join(f"{factor}={level}" for factor, level in levels.items())


def _is_telling(level: str) -> bool:
    """Return True if a level is understood without its factor: a word that is not a mere answer."""
    return level[:1].isalpha() and level not in ANSWERS


def load_name(trial: TrialRecord) -> str:
    """Return the names of the trial's loads and work, whatever the study calls its levels."""
    names = sorted({load.load for load in trial.loads} | {each.work for each in trial.work})
    return "+".join(names) or REST


def stretches(trials: NDArray[np.intp]) -> list[tuple[int, int, int]]:
    """Return each trial's number, its first place and the place after its last one.

    The numbers are in rising order.
    """
    if not len(trials):
        return []
    firsts = [0, *(np.flatnonzero(np.diff(trials)) + 1).tolist()]
    afters = [*firsts[1:], len(trials)]
    return [(int(trials[first]), first, after) for first, after in zip(firsts, afters, strict=True)]
