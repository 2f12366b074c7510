"""Cost of the instrument itself: the time that the taps add to a user RTT at rest.

Packets of phase `untapped` are sent before the taps are switched on, those of phase `before` after
it, both at rest and in the same lab. The untapped packets come first, so that a cold start slows
them and makes the cost look smaller.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from delaylab.analysis.packets.rtt import round_trips
from delaylab.analysis.statistics.effects import Effect, shift
from delaylab.analysis.statistics.quantiles import Floats

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
    """Increase of the median user RTT at rest by the taps (round trip, µs), or None and why."""

    tapped_n: int
    untapped_n: int
    tapped_us: float | None
    untapped_us: float | None
    added: Effect | None
    why: str = ""


def at_rest(packets: pl.DataFrame) -> AtRest:
    """Return the user RTTs at rest, given packets of all phases."""
    return AtRest(_user(packets, TAPPED), _user(packets, UNTAPPED))


def cost(parts: list[AtRest]) -> Cost:
    """Return the taps' cost over the packets of one or more groups."""
    on = np.concatenate([part.tapped for part in parts])
    off = np.concatenate([part.untapped for part in parts])
    if min(len(on), len(off)) < ENOUGH:
        why = (
            f"needs {ENOUGH} packets at rest with taps and without; "
            f"there are {len(on)} and {len(off)}"
        )
        return Cost(len(on), len(off), None, None, None, why)
    medians = float(np.median(on)), float(np.median(off))
    return Cost(len(on), len(off), *medians, shift(on, off))


def _user(packets: pl.DataFrame, phase: str) -> Floats:
    sent = packets.filter(pl.col("phase") == phase)
    return round_trips(sent)["app"].drop_nulls().to_numpy() / 1000
