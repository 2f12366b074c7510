"""Packets that a quantile takes, and the time that these take. Imports no numbers: plans need it.

A median is given from so many packets on: half of as many independent ones lie beyond it on one
side in 3 of 100 cases. Another quantile is given if so many independent packets are expected on
either side of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

FEWEST, BEYOND = 6, 5
MINUTE_S, HOUR_S, DAY_S = 60, 3600, 86400


@dataclass(frozen=True, slots=True)
class Needs:
    """The packets that a quantile which was refused would take, and how long these would take.

    `seconds` is None if the time between two packets is not known.
    """

    packets: int
    seconds: float | None

    @property
    def short(self) -> str:
        """Return it for a cell of a table."""
        time = "" if self.seconds is None else f" ({lasting(self.seconds)})"
        return f"needs {self.packets}{time}"

    @property
    def words(self) -> str:
        """Return it for a sentence."""
        time = "" if self.seconds is None else f" ({lasting(self.seconds)})"
        return f"needs about {self.packets} packets{time}"


def needed(q: float) -> int:
    """Return the number of packets, independent ones beside the median, that a quantile takes."""
    return FEWEST if q == 0.5 else math.ceil(round(BEYOND / min(q, 1 - q), 6))


def needs(q: float, n: int, effective: float, every_s: float | None) -> Needs:
    """Return about how many packets a quantile takes if n packets are worth `effective` ones.

    `every_s` is the time between two packets, None if it is not known.
    """
    packets = needed(q)
    if effective < 0.95 * n:
        packets = round(float(f"{n * packets / effective:.2g}"))
    return Needs(packets, None if every_s is None else packets * every_s)


def lasting(seconds: float) -> str:
    """Return a time that something takes, in a unit that needs few figures."""
    if seconds < 2 * MINUTE_S:
        # What rounds to 10 has one figure only by an exponent.
        return f"{seconds:.0f} s" if seconds >= 9.5 else f"{seconds:.1g} s"
    if seconds < 2 * HOUR_S:
        return f"{seconds / MINUTE_S:.0f} min"
    return f"{seconds / HOUR_S:.0f} h" if seconds < 2 * DAY_S else f"{seconds / DAY_S:.0f} days"
