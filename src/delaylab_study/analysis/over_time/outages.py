"""Outages of a trial: runs of packets that got no reply, with the time that they lasted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from delaylab_study.analysis.statistics.quantiles import Floats

LEAST = 5
"""The smallest number of packets in a row without a reply that is an outage."""


@dataclass(frozen=True, slots=True)
class Outage:
    """A run of `packets` that got no reply; times in s from the trial's first packet on.

    The first of them was sent at `start_s`, the last one at `end_s`. What carried them was out for
    at least `least_s`, the time between these two. It was out for at most `most_s`: from the last
    packet before that had a reply, until the next one that had one. That is None if the outage is
    at the trial's start or end.
    """

    start_s: float
    end_s: float
    packets: int
    least_s: float
    most_s: float | None


def outages(sent_s: Floats, lost: NDArray[np.bool_]) -> list[Outage]:
    """Return the outages among packets, given when each was sent, in rising order."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], lost, [False])).astype(np.int8)))
    found = []
    for first, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        if end - first < LEAST:
            continue
        start_s, end_s = float(sent_s[first]), float(sent_s[end - 1])
        inside = first > 0 and end < len(lost)
        most_s = float(sent_s[end] - sent_s[first - 1]) if inside else None
        found.append(Outage(start_s, end_s, end - first, end_s - start_s, most_s))
    return found
