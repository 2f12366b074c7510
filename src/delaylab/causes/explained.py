"""Packets with the causes of their time: the late ones, beside the usual ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from delaylab.causes.records import CpuWindow, Task
from delaylab.causes.shares import CauseShare, Usual, shares, usual
from delaylab.causes.walk import Cause, Stage, Walker

FEWEST = 5
"""The fewest usual packets by which late ones are judged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedPacket:
    """A packet's segments, and what the CPUs did meanwhile."""

    stages: Sequence[Stage]
    recorded: CpuWindow


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """A late packet: by how much it took longer than usual, and the shares of the causes.

    The shares add up to `excess_ns`. `tasks` are those that they name. `lab` is the lab that it was
    sent in, None if it was sent from outside.
    """

    seq: int
    excess_ns: int
    shares: Sequence[CauseShare]
    tasks: Mapping[int, Task]
    lab: str | None

    @property
    def top(self) -> CauseShare | None:
        """Return the largest share; None without any."""
        return self.shares[0] if self.shares else None

    @property
    def by_cause(self) -> dict[Cause, int]:
        """Return the share of each cause in ns, the largest first."""
        total: dict[Cause, int] = {}
        for share in self.shares:
            total[share.cause] = total.get(share.cause, 0) + share.ns
        return dict(sorted(total.items(), key=lambda item: -item[1]))


def usual_of(packets: Sequence[WatchedPacket], segments: int) -> Usual | None:
    """Return the usual time of each cause; None if there are too few packets to know it."""
    if len(packets) < FEWEST:
        return None
    return usual((Walker(each.recorded).pieces(each.stages) for each in packets), segments)


def explain(seq: int, late: WatchedPacket, expected: Usual) -> Explained:
    """Return why a packet was late."""
    walker = Walker(late.recorded)
    found = shares(walker.pieces(late.stages), expected)
    named = {number for share in found for number in (share.task, share.of)}
    return Explained(
        seq=seq,
        excess_ns=sum(share.ns for share in found),
        shares=found,
        tasks={number: task for number, task in late.recorded.tasks.items() if number in named},
        lab=walker.lab,
    )
