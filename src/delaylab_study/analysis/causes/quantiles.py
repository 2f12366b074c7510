"""Causes of the packets near the median, p99 and p99.9 of trials that have the same levels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from delaylab.api.causes import Cause
from delaylab_study.analysis.causes.explained import LookedAtTrial, looked_at, recorded
from delaylab_study.dataset.records.trial import TrialRecord
from delaylab_study.dataset.store import Study

QUANTILES = (("median", 0.5), ("p99", 0.99), ("p99.9", 0.999))
NEAR = 20
"""The packets around a quantile whose causes are averaged."""
FEWEST_BEYOND = 5
"""The fewest packets beyond a quantile for which it is given."""


@dataclass(frozen=True, slots=True)
class AtQuantile:
    """The mean time of each cause in ns, of packets near a quantile of the round trips."""

    name: str
    rtt_ns: float
    causes: Mapping[Cause, float]


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
        found.append(AtQuantile(name, rtt_ns, causes))
    return found


def causes_of(study: Study, trials: Sequence[TrialRecord]) -> list[AtQuantile]:
    """Return the causes near quantiles of trials; none if no CPUs were recorded in them."""
    found = [looked_at(study, trial) for trial in trials if recorded(study, trial)]
    return at_quantiles(found) if found else []
