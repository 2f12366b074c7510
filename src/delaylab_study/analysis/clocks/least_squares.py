"""Least-squares line through packets at rest.

Packets sent at rest before and after the load tie the clocks together (Whiteaker et al. 2011, ACM
SIGCOMM CCR 41(1), section 3.2). The offset is the mean of a packet's two crossings, there and back,
as if both took the same time. Half of any asymmetry at rest therefore remains as an error, and the
method cannot tell its size.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from delaylab_study.analysis.clocks.line import ClockLine, Nanoseconds
from delaylab_study.analysis.clocks.pairs import Loops

# Smallest number of packets at rest for a line.
ENOUGH = 10


@dataclass(frozen=True, slots=True)
class LeastSquares:
    """The least-squares line of n packets; `residual_ns` is the residuals' root mean square."""

    line: ClockLine
    n: int
    residual_ns: float | None


def least_squares(at_rest: Loops) -> LeastSquares | None:
    """Return the line through packets at rest, or None for fewer than `ENOUGH`.

    Return None, too, if all packets crossed at the same time.
    """
    time = middle_ns(at_rest)
    if len(time) < ENOUGH or time.min() == time.max():
        return None
    origin, base = int(time[0]), int(at_rest.twice_ns[0]) // 2
    span = float(time.max() - time.min())
    x = (time - origin) / span
    y = (at_rest.twice_ns - 2 * base) / 2
    rise, offset = np.polyfit(x, y, 1)
    line = ClockLine(origin, base, float(offset), float(rise / span))
    return LeastSquares(line, len(x), residual(line, at_rest))


def middle_ns(packets: Loops) -> Nanoseconds:
    """Return the middle of each packet's two crossings, in the reference's time."""
    return packets.first_ns + (packets.last_ns - packets.first_ns) // 2


def residual(line: ClockLine, packets: Loops) -> float | None:
    """Return the root mean square distance in ns of packets' mean offsets from a line."""
    if len(packets.rows) == 0:
        return None
    left = (packets.twice_ns - 2 * line.base_ns) / 2 - line.offset(middle_ns(packets))
    return float(np.sqrt(np.mean(left**2)))
