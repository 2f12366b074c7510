"""Trials of one combination of levels, taken together: what their analysis found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from delaylab.analysis.delay_by_share import DelayByShare
from delaylab.analysis.doubts.clocks import TrialClocks
from delaylab.analysis.doubts.machine_state import MachineState
from delaylab.analysis.doubts.reserved_cpus import ReservedSeen
from delaylab.analysis.links.fidelity import TrialLink
from delaylab.analysis.over_time.slowest import TRIAL, SlowPacket
from delaylab.analysis.over_time.timeline import Timeline
from delaylab.analysis.over_time.usage import IN_USE
from delaylab.analysis.packets import rtt
from delaylab.analysis.packets.accounting import Account, PhaseAccount
from delaylab.analysis.packets.closed_loop import LoopSeen
from delaylab.analysis.packets.instrument import AtRest
from delaylab.analysis.statistics.quantiles import Summary
from delaylab.analysis.statistics.runs import Floats
from delaylab.analysis.work import Work
from delaylab.dataset.records.doubts import Doubt, DoubtKind
from delaylab.dataset.records.trial import TrialRecord

KEPT = 20_000
"""The most packets of a group that are kept for charts and claims, spread over all its packets.

So a dataset of any size fits into memory.
"""
MEASURED = "load"
"""The phase of the packets sent under the load. Those at rest are a reference only."""
EMULATED_KINDS = ("qemu", "xen")
"""Kinds of nodes that are emulated in software where the CPU does not run them."""
REST = "rest"
"""The name of the load of trials that have none."""
SAMPLES: dict[str, type[pl.DataType]] = {
    **dict.fromkeys((*rtt.VANTAGE, *rtt.DELTAS, *rtt.ONE_WAY), pl.Int64),
    TRIAL: pl.Int32,
    IN_USE: pl.Boolean,
}
"""The columns of a group's samples."""
ANSWERS = frozenset({"none", "yes", "no", "on", "off", "true", "false", "default"})
"""Levels that say nothing without the name of their factor."""


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

    `rtt` has the RTT at each vantage point, `deltas` the differences between them, `one_way` the
    sending and the receiving delay. `samples` holds all of these for at most `KEPT` packets, each
    with the number of its trial (`TRIAL`), and with whether the machine was in use when it was sent
    (`IN_USE`). `outliers` counts flagged user RTTs, none of which is dropped. `at_rest` are the
    user RTTs with taps on and off; packets sent with the taps off count nowhere else. `bounds`
    gives the largest error of the one-way delays in µs, `clocks` the alignment of each trial with
    more than one clock. `links` are the links with conditions, each direction in each trial.
    `phases` has the fates of the packets of each phase, by leg; `account` covers all phases with
    taps. `sent` counts the packets scheduled under load. `slowest` are the slowest of them,
    `timelines` the user RTTs of each trial over time, `loops` what its packets show of a closed
    loop, `work` what the nodes got done beside it, `by_share` the delays beside a node's share of
    that work, `reserved` what others used of CPUs that the lab reserves for some nodes.

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
    slowest: list[SlowPacket] = field(default_factory=list)
    timelines: list[Timeline] = field(default_factory=list)
    loops: list[LoopSeen] = field(default_factory=list)
    work: list[Work] = field(default_factory=list)
    by_share: list[DelayByShare] = field(default_factory=list)
    reserved: list[ReservedSeen] = field(default_factory=list)

    @property
    def probed(self) -> bool:
        """Return True if packets were sent."""
        return self.trials[0].probed

    @property
    def answered(self) -> int:
        """Return the number of packets under load that were answered."""
        return self.rtt["app"].n if "app" in self.rtt else 0

    @property
    def sent(self) -> int:
        """Return the number of packets under load that the sender's kernel took."""
        return sum(phase.sent for phase in self.phases if phase.phase == MEASURED)

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
        return by_trial(delays_ns.to_numpy() / 1000, trials.to_numpy())

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
        return "emulated" if self.kind in EMULATED_KINDS else "with emulated virtual machines"

    @property
    def load(self) -> str:
        """Return the names of the loads and work, joined by `+`; `rest` if there is none."""
        return load_name(self.trials[0])

    @property
    def label(self) -> str:
        """Return the levels in words; the trial's id if there are none."""
        return in_words(self.factors) or self.trials[0].id


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


def by_trial(values: NDArray[Any], trials: NDArray[np.intp]) -> list[NDArray[Any]]:
    """Return the values of each trial, given the number of each value's trial in rising order."""
    return np.split(values, np.flatnonzero(np.diff(trials)) + 1) if len(values) else []
