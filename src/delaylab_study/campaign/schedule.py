"""The schedule of a campaign: which machine runs which trial next, and what counts as its outcome.

It knows nothing of networks: a coordinator tells it what happens, and asks what to do. A block of
trials stays on the machine that began it, so that its levels are compared on one machine. If that
machine is lost, another one goes on with the rest of the block.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from delaylab_study.dataset.records.trial import Status
from delaylab_study.study.job import Block
from delaylab_study.study.order import Planned

MOST_LOST = 2
"""The number of machines that a trial may take with it. It is then set aside; also if it takes one
of them more often than that."""
MOST_FAILED = 3
"""The number of trials that may fail on a machine alone. It is then set aside."""

Taken = Literal["keep", "again", "drop"]
"""The fate of an outcome: it is kept; its trial runs again elsewhere; another one was kept."""


@dataclass(slots=True)
class _Part:
    """The trials of a block that are still to run, in their order."""

    left: deque[Planned]


@dataclass(slots=True)
class _Seat:
    """A machine: the block that it is at, the trial that it runs, and the trials that failed."""

    part: _Part | None = None
    running: Planned | None = None
    failed: set[str] = field(default_factory=set)
    present: bool = True

    @property
    def is_aside(self) -> bool:
        return len(self.failed) >= MOST_FAILED


class BlockSchedule:
    """The trials that are left, and the machines that run them; each has a name."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        parts = [_Part(deque(t for t in b.trials if t.id not in b.finished)) for b in blocks]
        self._free = deque(part for part in parts if part.left)
        self._seats: dict[str, _Seat] = {}
        self._again: deque[Planned] = deque()
        self._tried: dict[str, set[str]] = {}
        self._lost: dict[str, list[str]] = {}
        self._open = {trial.id for part in parts for trial in part.left}

    @property
    def is_done(self) -> bool:
        """Return True if each trial has an outcome that was kept, or is set aside."""
        return not self._open

    @property
    def left(self) -> int:
        """Return the number of trials without an outcome."""
        return len(self._open)

    @property
    def running(self) -> dict[str, Planned]:
        """Return the trial that each machine runs, by the machine's name."""
        return {name: seat.running for name, seat in self._seats.items() if seat.running}

    @property
    def aside(self) -> dict[str, list[str]]:
        """Return the machines that are set aside, each with the trials that failed on it alone."""
        return {
            name: sorted(seat.failed)
            for name, seat in self._seats.items()
            if seat.is_aside and seat.present
        }

    @property
    def usable(self) -> list[str]:
        """Return the names of the machines that are there and not set aside."""
        return [name for name, seat in self._seats.items() if seat.present and not seat.is_aside]

    def joined(self, name: str) -> None:
        """Take a machine in. One that comes back is known by its name, and keeps its failures."""
        self._seats.setdefault(name, _Seat()).present = True

    def next_for(self, name: str) -> Planned | None:
        """Return the trial that a machine is to run now, None if there is none for it.

        It goes on with its block. Then it runs again what failed elsewhere, and then begins a
        block.
        """
        seat = self._seats[name]
        if seat.running or seat.is_aside or not seat.present:
            return None
        seat.running = self._in_block(seat) or self._failed_elsewhere(name) or self._in_next(seat)
        return seat.running

    def lost(self, name: str) -> Planned | None:
        """Note that a machine is gone. Return the trial that is set aside by that, if one is.

        The trial that it ran is to run elsewhere, unless it took `MOST_LOST` machines with it.
        """
        seat = self._seats[name]
        trial, part = seat.running, seat.part
        seat.running, seat.part, seat.present = None, None, False
        if part is not None and part.left:
            self._free.appendleft(part)
        if trial is None or trial.id not in self._open:
            return None
        took = self._lost.setdefault(trial.id, [])
        took.append(name)
        if len(set(took)) >= MOST_LOST or len(took) > MOST_LOST:
            self._open.discard(trial.id)
            return trial
        self._again.append(trial)
        return None

    def dismissed(self, name: str) -> None:
        """Note that a machine is to get no more trials; what it runs it may end."""
        seat = self._seats[name]
        seat.present = False
        if seat.part is not None and seat.part.left:
            self._free.appendleft(seat.part)
        seat.part = None

    def took(self, trial: str) -> list[str]:
        """Return the machines that were lost while they ran a trial."""
        return self._lost.get(trial, [])

    def ended(self, name: str, trial: Planned, status: Status) -> Taken:
        """Note that a machine ended a trial, and return what becomes of the outcome.

        A trial that failed is run again on each other machine that is there; what fails everywhere
        has failed. What fails on one machine and not on another counts against the machine.
        """
        seat = self._seats[name]
        if seat.running is not None and seat.running.id == trial.id:
            seat.running = None
        if trial.id not in self._open:
            return "drop"
        if status == "failed":
            tried = self._tried.setdefault(trial.id, set())
            tried.add(name)
            seat.failed.add(trial.id)
            if any(other not in tried for other in self.usable):
                self._again.append(trial)
                self._give_up_if_aside(seat)
                return "again"
            # It failed wherever it ran: that says nothing of the machines.
            for each in self._seats.values():
                each.failed.discard(trial.id)
        self._open.discard(trial.id)
        return "keep"

    def _give_up_if_aside(self, seat: _Seat) -> None:
        if seat.is_aside and seat.part is not None and seat.part.left:
            self._free.appendleft(seat.part)
            seat.part = None

    def _in_block(self, seat: _Seat) -> Planned | None:
        while seat.part is not None and seat.part.left:
            trial = seat.part.left.popleft()
            if trial.id in self._open:
                return trial
        seat.part = None
        return None

    def _failed_elsewhere(self, name: str) -> Planned | None:
        """Return a trial that a machine lost or failed, and that this one has not tried.

        One that all machines have tried is tried again: the last of the others left meanwhile.
        """
        for _ in range(len(self._again)):
            trial = self._again.popleft()
            if trial.id not in self._open:
                continue
            tried = self._tried.get(trial.id, set())
            if name not in tried or tried.issuperset(self.usable):
                return trial
            self._again.append(trial)
        return None

    def _in_next(self, seat: _Seat) -> Planned | None:
        while self._free:
            seat.part = self._free.popleft()
            if (trial := self._in_block(seat)) is not None:
                return trial
        return None
