"""Packets with the causes of their time: the late ones, beside the usual ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from delaylab.causes.holds import Hold, held_pieces
from delaylab.causes.passages import Passage, holds_of
from delaylab.causes.pieces import Cause, CausePiece, Stage
from delaylab.causes.records import CpuWindow, Task, labs_of
from delaylab.causes.shares import CauseShare, Usual, shares, usual
from delaylab.causes.walk import Walker

FEWEST = 5
"""The fewest usual packets by which late ones are judged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedPart:
    """Segments of a packet that follow each other on one kernel, and what its CPUs did meanwhile.

    Times are those of its clock. `recorded` is None where no CPUs were recorded: on another kernel,
    or, with `between`, on the way between two machines. `holds` say what held the packet in them.
    """

    stages: Sequence[Stage]
    recorded: CpuWindow | None
    between: bool = False
    holds: Sequence[Hold] = ()

    def pieces(self, lab: str | None) -> list[list[CausePiece]]:
        """Return the pieces of each segment's time, for a packet that was sent in a lab."""
        if self.recorded is not None:
            return Walker(self.recorded, lab).pieces(self.stages, self.holds)
        cause = Cause.BEYOND if self.between else Cause.UNKNOWN
        return [list(held_pieces(stage, self.holds, cause)) for stage in self.stages]


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedPacket:
    """A packet's segments in the order of its way, in parts of one kernel each.

    A task has a number of its own among those of all parts. `lab` is that of a packet that was sent
    in one, if it is known; the tasks of the sender's kernel tell it otherwise. `passages` are those
    through links that are known.
    """

    parts: Sequence[WatchedPart]
    lab: str | None = None
    passages: Sequence[Passage] = ()

    @staticmethod
    def of_one(
        stages: Sequence[Stage],
        recorded: CpuWindow,
        holds: Sequence[Hold] = (),
        passages: Sequence[Passage] = (),
    ) -> WatchedPacket:
        """Return a packet with the records of one machine alone, and its passages there.

        `holds` are what else is known to have held it.
        """
        held = [*holds, *holds_of(passages)]
        return WatchedPacket(
            parts=[WatchedPart(stages=stages, recorded=recorded, holds=held)], passages=passages
        )

    @property
    def segments(self) -> int:
        """Return the number of its segments."""
        return sum(len(part.stages) for part in self.parts)

    @property
    def pieces(self) -> list[list[CausePiece]]:
        """Return the pieces of each segment's time."""
        return [pieces for part in self.parts for pieces in part.pieces(self.lab)]

    @property
    def tasks(self) -> dict[int, Task]:
        """Return the tasks of all parts."""
        seen = (part.recorded.tasks for part in self.parts if part.recorded is not None)
        return {number: task for tasks in seen for number, task in tasks.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """A late packet: by how much it took longer than usual, and the shares of the causes.

    The shares add up to `excess_ns`. `tasks` are those that they name. `lab` is the lab that it was
    sent in, None if it was sent from outside. `passages` are those in which it found a queue.
    """

    seq: int
    excess_ns: int
    shares: Sequence[CauseShare]
    tasks: Mapping[int, Task]
    lab: str | None
    passages: Sequence[Passage] = ()

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
    return usual((each.pieces for each in packets), segments)


def explain(seq: int, late: WatchedPacket, expected: Usual) -> Explained:
    """Return why a packet was late."""
    found, tasks = shares(late.pieces, expected), late.tasks
    named = {number for share in found for number in (share.task, share.of)}
    return Explained(
        seq=seq,
        excess_ns=sum(share.ns for share in found),
        shares=found,
        tasks={number: task for number, task in tasks.items() if number in named},
        lab=late.lab or _lab_of(late, tasks),
        passages=[each for each in late.passages if each.queue_frames],
    )


def _lab_of(packet: WatchedPacket, tasks: Mapping[int, Task]) -> str | None:
    """Return the lab of those who got the packet in the end; None outside of labs."""
    senders = packet.parts[-1].stages[-1].by or frozenset()
    return next(iter(sorted(labs_of(tasks.values(), senders))), None)
