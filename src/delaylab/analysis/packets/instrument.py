"""Cost of the instrument itself: the time that the taps add to a user RTT at rest.

Packets of phase `untapped` are sent before the taps are switched on, those of phase `before` after
it, both at rest and in the same lab. The untapped packets come first, so that a cold start slows
them and makes the cost look smaller.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import polars as pl

from delaylab.analysis.packets.rtt import round_trips
from delaylab.analysis.statistics.effects import Effect, estimate
from delaylab.analysis.statistics.runs import Floats

UNTAPPED = "untapped"
TAPPED = "before"
# Smallest number of packets with the taps on, and with the taps off.
ENOUGH = 20


@dataclass(frozen=True, slots=True)
class AtRest:
    """User RTTs in µs at rest, with the taps on and off."""

    tapped: Floats
    untapped: Floats


@dataclass(frozen=True, slots=True)
class Cost:
    """Increase of the median user RTT at rest by the taps (round trip, µs), or None and why.

    Packets are compared within the same levels only. `added` is the mean over the levels of the
    increase there, `tapped_us` and `untapped_us` are the means of the medians; a level counts by
    its packets.
    """

    tapped_n: int
    untapped_n: int
    tapped_us: float | None
    untapped_us: float | None
    added: Effect | None
    why: str = ""

    @property
    def measurable(self) -> bool:
        """Return True if the whole interval of the increase lies above 0."""
        return self.added is not None and self.added.interval[0] > 0

    @property
    def at_most_us(self) -> float | None:
        """Return the upper end of the increase's interval, None if that is 0, less or unknown."""
        most = self.added.interval[1] if self.added else 0.0
        return most if 0 < most < math.inf else None


def at_rest(packets: pl.DataFrame) -> AtRest:
    """Return the user RTTs at rest, given packets of all phases."""
    return AtRest(_user(packets, TAPPED), _user(packets, UNTAPPED))


def cost(parts: list[AtRest]) -> Cost:
    """Return the taps' cost over one or more groups, each compared with itself."""
    both = [part for part in parts if min(len(part.tapped), len(part.untapped)) > 0]
    on, off = sum(len(part.tapped) for part in both), sum(len(part.untapped) for part in both)
    if min(on, off) < ENOUGH:
        on, off = sum(len(part.tapped) for part in parts), sum(len(part.untapped) for part in parts)
        why = f"needs {ENOUGH} packets at rest with taps and without; there are {on} and {off}"
        return Cost(on, off, None, None, None, why)
    counts = [min(len(part.tapped), len(part.untapped)) for part in both]
    weights = np.array(counts, dtype=np.float64) / sum(counts)
    tapped, untapped = (
        float(weights @ [np.median(values) for values in side])
        for side in ([part.tapped for part in both], [part.untapped for part in both])
    )
    series = [values for part in both for values in (part.tapped, part.untapped)]

    def increase(drawn: list[Floats]) -> Floats:
        medians = np.stack([np.median(values, axis=-1) for values in drawn])
        return np.asarray(weights @ (medians[::2] - medians[1::2]))

    return Cost(on, off, tapped, untapped, estimate(series, increase))


def _user(packets: pl.DataFrame, phase: str) -> Floats:
    sent = packets.filter(pl.col("phase") == phase)
    return round_trips(sent)["app"].drop_nulls().to_numpy() / 1000
