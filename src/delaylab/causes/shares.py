"""The division of a late packet's excess among causes, by what its segments take when all is quiet.

A segment has a usual amount of each cause: on most machines the wake-up of an idle CPU is most of a
quiet round trip. What a late packet has more of a cause than the median of packets that are not
late is that cause's share of its excess; a cause of which it has less has a negative share.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from delaylab.causes.pieces import Cause, CausePiece
from delaylab.causes.records import IDLE

PacketPieces = Sequence[Sequence[CausePiece]]
"""The pieces of a packet's time, for each of its segments."""
Usual = Sequence[Mapping[Cause, float]]
"""The usual time of each cause in ns, for each segment."""


@dataclass(frozen=True, slots=True)
class CauseShare:
    """A cause's share of a packet's excess in ns, in one segment.

    `task` is the task that was the cause, `of` the one that was kept waiting; IDLE if it was none.
    `where` says what held the packet (`Hold.where`), "" if it was a task.
    """

    segment: int
    cause: Cause
    ns: int
    task: int = IDLE
    of: int = IDLE
    where: str = ""


def usual(quiet: Iterable[PacketPieces], segments: int) -> Usual:
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


def shares(packet: PacketPieces, expected: Usual) -> list[CauseShare]:
    """Return the shares of a packet's excess, the largest first; they add up to it.

    The usual time of a cause is taken from its pieces in proportion to their length.
    """
    found: list[CauseShare] = []
    for segment, (pieces, normal) in enumerate(zip(packet, expected, strict=True)):
        totals = _by_cause(pieces)
        more = {
            cause: totals[cause] - round(normal.get(cause, 0.0)) for cause in {*totals, *normal}
        }
        _give_links_their_time(more)
        for cause, over in more.items():
            if over <= 0:
                found.append(CauseShare(segment, cause, over))
                continue
            found += _divided(segment, cause, over, pieces)
    return sorted((each for each in found if each.ns), key=lambda share: -share.ns)


def _give_links_their_time(more: dict[Cause, int]) -> None:
    """Take from the largest cause what a link has less than usual, as it never delays less.

    The walk cannot see when a packet reached a task that waited for a CPU already.
    """
    less = -min(0, more.get(Cause.LINK, 0))
    largest = max(more, key=lambda cause: more[cause], default=Cause.LINK)
    if less and more[largest] > 0:
        more[Cause.LINK], more[largest] = 0, more[largest] - less


def _divided(
    segment: int, cause: Cause, over: int, pieces: Sequence[CausePiece]
) -> list[CauseShare]:
    """Divide the excess of a cause among the tasks that were the cause; the parts add up to it."""
    tasks = Counter[tuple[int, int, str]]()
    for piece in pieces:
        if piece.cause == cause:
            tasks[piece.task, piece.of, piece.where] += piece.ns
    found, left, of = [], over, tasks.total()
    for (task, waited, where), ns in tasks.most_common():
        part = round(left * ns / of)
        found.append(CauseShare(segment, cause, part, task, waited, where))
        left, of = left - part, of - ns
    return found


def _by_cause(pieces: Iterable[CausePiece]) -> Counter[Cause]:
    total = Counter[Cause]()
    for piece in pieces:
        total[piece.cause] += piece.ns
    return total
