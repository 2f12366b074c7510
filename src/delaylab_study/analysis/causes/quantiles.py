"""Causes of packets of trials that have the same levels: near quantiles, and of the slowest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from delaylab.api.causes import Cause, cause
from delaylab_study.analysis.causes.drawn import SampleBias, sample_bias
from delaylab_study.analysis.causes.explained import LookedAt, LookedAtTrial, looked_at, recorded
from delaylab_study.dataset.records.trial import TrialRecord
from delaylab_study.dataset.store import Study

QUANTILES = (("median", 0.5), ("p99", 0.99), ("p99.9", 0.999))
NEAR = 20
"""The packets around a quantile whose causes are averaged."""
FEWEST_BEYOND = 5
"""The fewest packets beyond a quantile for which it is given."""
SLOWEST = 10
"""The most slowest packets that are kept with all that the CPUs did."""


@dataclass(frozen=True, slots=True)
class AtQuantile:
    """The mean time of each cause in ns, of packets near a quantile of the round trips.

    `named` has those that took longer than usual in words, with who was to blame, largest first.
    """

    name: str
    rtt_ns: float
    causes: Mapping[Cause, float]
    named: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GroupCauses:
    """Causes of packets of trials that have the same levels: near quantiles, and the slowest ones.

    Both are empty if no CPUs were recorded. `bias` is what packets drawn at random say of all; None
    if none were drawn.
    """

    near: Sequence[AtQuantile] = ()
    slowest: Sequence[LookedAt] = field(default=(), repr=False)
    bias: SampleBias | None = None


def at_quantiles(trials: Sequence[LookedAtTrial]) -> list[AtQuantile]:
    """Return the causes near the median, p99 and p99.9 of trials that have the same levels."""
    packets = [packet for each in trials for packet in each.packets]
    rtts_ns = np.concatenate([each.rtts_ns for each in trials])
    found = []
    for name, share in QUANTILES if packets and len(rtts_ns) else ():
        if (1 - share) * len(rtts_ns) < FEWEST_BEYOND:
            continue
        rtt_ns = float(np.quantile(rtts_ns, share))
        near = sorted(packets, key=lambda packet: abs(packet.rtt_ns - rtt_ns))[:NEAR]
        total = Counter[Cause]()
        for packet in near:
            total.update(packet.explained.by_cause)
        causes = {each: ns / len(near) for each, ns in total.most_common()}
        found.append(AtQuantile(name, rtt_ns, causes, _named(near)))
    return found


def _named(packets: Sequence[LookedAt]) -> dict[str, float]:
    """Return the mean time of each cause in words, in ns; tasks of the same name are one."""
    total = Counter[str]()
    for packet in packets:
        for share in packet.explained.shares:
            if share.ns > 0:
                total[cause(share, packet.explained, brief=True)] += share.ns
    return {words: ns / len(packets) for words, ns in total.most_common()}


def slowest_of(packets: Iterable[LookedAt]) -> list[LookedAt]:
    """Return the packets with the largest excess, the largest first.

    Of packets that were under way at the same time the slowest stands for all: the CPUs did the
    same meanwhile.
    """
    found: list[LookedAt] = []
    for packet in sorted(packets, key=lambda packet: -packet.explained.excess_ns):
        if len(found) == SLOWEST or packet.explained.excess_ns <= 0:
            break
        if not any(_meanwhile(packet, other) for other in found):
            found.append(packet)
    return found


def _meanwhile(one: LookedAt, other: LookedAt) -> bool:
    """Return True if two packets of a trial were under way at the same time."""
    together = one.start_ns < other.end_ns and other.start_ns < one.end_ns
    return one.trial.id == other.trial.id and together


def causes_of(study: Study, trials: Sequence[TrialRecord]) -> GroupCauses:
    """Return the causes of packets of trials; nothing if no CPUs were recorded in them."""
    found = [looked_at(study, trial) for trial in trials if recorded(study, trial)]
    if not found:
        return GroupCauses()
    packets = (packet for each in found for packet in each.packets)
    bias = sample_bias([each.drawn for each in found])
    return GroupCauses(at_quantiles(found), slowest_of(packets), bias)
