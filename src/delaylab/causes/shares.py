"""The division of a packet's excess among causes, by what its segments take when all is quiet.

A segment has a usual amount of each cause: on most machines the wake-up of an idle CPU is most of a
quiet round trip. What a late packet has more of a cause than the median of packets that are not
late is that cause's share of its excess. What is left, to either side, is unexplained.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from delaylab.causes.records import IDLE
from delaylab.causes.walk import Cause, Piece


@dataclass(frozen=True, slots=True)
class Share:
    """A cause's share of a packet's excess in ns, in one segment.

    `task` is the task that was the cause, `of` the one that was kept waiting; IDLE if there is none.
    """

    segment: int
    cause: Cause
    ns: int
    task: int = IDLE
    of: int = IDLE


Usual = Sequence[Mapping[Cause, float]]
"""The usual time of each cause in ns, for each segment."""


def usual(quiet: Iterable[Sequence[Sequence[Piece]]], segments: int) -> Usual:
    """Return the median time of each cause in each segment, over packets that are not late."""
    times: list[dict[Cause, list[int]]] = [{} for _ in range(segments)]
    packets = 0
    for packet in quiet:
        packets += 1
        for segment, pieces in enumerate(packet):
            for cause, ns in _by_cause(pieces).items():
                times[segment].setdefault(cause, []).append(ns)
    # A packet that has nothing of a cause has 0 of it.
    return [
        {
            cause: statistics.median([*found, *[0] * (packets - len(found))])
            for cause, found in of_segment.items()
        }
        for of_segment in times
    ]


def shares(packet: Sequence[Sequence[Piece]], expected: Usual) -> list[Share]:
    """Return the shares of a late packet's excess, the largest first; they add up to it.

    The usual time of a cause is taken from its pieces in proportion to their length.
    """
    found: list[Share] = []
    for segment, (pieces, normal) in enumerate(zip(packet, expected, strict=True)):
        totals = _by_cause(pieces)
        for (cause, task, of), ns in _together(pieces).items():
            part = ns / totals[cause] if totals[cause] else 0.0
            over = ns - round(part * min(normal.get(cause, 0.0), totals[cause]))
            found.append(Share(segment, cause, over, task, of))
        # A packet that has less of a cause than usual has made up for some of another.
        less = sum(round(min(0.0, totals[cause] - ns)) for cause, ns in normal.items())
        if less:
            found.append(Share(segment, Cause.UNEXPLAINED, less))
    return sorted((each for each in found if each.ns), key=lambda share: -share.ns)


def _by_cause(pieces: Iterable[Piece]) -> Counter[Cause]:
    total = Counter[Cause]()
    for piece in pieces:
        total[piece.cause] += piece.ns
    return total


def _together(pieces: Iterable[Piece]) -> Counter[tuple[Cause, int, int]]:
    total = Counter[tuple[Cause, int, int]]()
    for piece in pieces:
        total[piece.cause, piece.task, piece.of] += piece.ns
    return total
