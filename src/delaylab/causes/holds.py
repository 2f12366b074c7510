"""Times in which it is known what held a packet, whatever any CPU did meanwhile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from delaylab.causes.cpus import Stretch
from delaylab.causes.pieces import Cause, CausePiece, Stage

OF_LINKS = frozenset({Cause.QUEUE, Cause.RATE, Cause.DELAY})
"""The causes that a link is configured for; its engine records when each held a packet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold(Stretch):
    """A time for which something held a packet: a link, or TCP that waited before it sent again.

    `where` names the holder: "link line from one" (a link's direction), or "node.two" (its TCP).
    """

    cause: Cause
    where: str


def holds_within(holds: Sequence[Hold], start_ns: int, end_ns: int) -> Iterator[Hold]:
    """Yield the parts of holds between two times, the last one first; none overlap.

    Of two that overlap the later one is cut: a packet is held by the first until it leaves it.
    """
    for hold in sorted(holds, key=lambda each: (each.start_ns, each.end_ns), reverse=True):
        first_ns, last_ns = max(hold.start_ns, start_ns), min(hold.end_ns, end_ns)
        if first_ns < last_ns:
            yield replace(hold, start_ns=first_ns, end_ns=last_ns)
            end_ns = first_ns


def held_pieces(stage: Stage, holds: Sequence[Hold], rest: Cause) -> Iterator[CausePiece]:
    """Yield the pieces of a segment by what held the packet alone; other time has the cause `rest`.

    They add up to the segment's time.
    """
    left_ns = stage.length_ns
    for hold in holds_within(holds, *stage.times):
        left_ns -= hold.length_ns
        yield CausePiece(hold.cause, hold.length_ns, where=hold.where)
    yield CausePiece(rest, left_ns)
