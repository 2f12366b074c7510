"""Labs that are built by one keeper on each of their machines: on all of them, or on none."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from delaylab.agent.result import AgentError, Result
from delaylab.agent.stream import Loop
from delaylab.agent.wire.sessions import Build, BuildDone
from delaylab.errors import DelaylabError
from delaylab.io.interrupts import deferred
from delaylab.io.side_by_side import side_by_side
from delaylab.machines.keeper import Keeper, build_deadline_s

if TYPE_CHECKING:
    from delaylab.machines.machine import LabRecord, Machine
    from delaylab.plan.model import Plan


@dataclass(frozen=True)
class LabPart:
    """The part of a lab that one machine carries."""

    machine: Machine
    plan: Plan
    record: LabRecord


class JointKeeper(Keeper):
    """The keepers of a lab's parts, each with its machine."""

    def __init__(self, lab: str, keepers: Sequence[tuple[Machine, Keeper]]) -> None:
        self._lab, self._keepers = lab, keepers
        self.session = keepers[0][1].session

    def keep(self) -> None:
        """Keep all parts; if one cannot be kept, end the others, and say which it was."""
        with deferred():
            failed = side_by_side(_why_not_kept, self._keepers)
            if any(failed):
                side_by_side(self._end, zip(self._keepers, failed, strict=True))
                raise next(error for error in failed if error is not None)

    def _end(self, part: tuple[tuple[Machine, Keeper], DelaylabError | None]) -> None:
        """End a part; one that is kept no longer ends with its keeper's session."""
        (machine, keeper), failed = part
        with suppress(DelaylabError):
            if failed is None:
                _stop(machine, self._lab)
            else:
                keeper.release()

    def release(self) -> None:
        """End all parts, and wait until they are gone. Ctrl-C does not end this wait."""
        with deferred():
            for _, keeper in self._keepers:
                with suppress(AgentError, OSError):
                    keeper.session.stop()
            for _, keeper in self._keepers:
                with suppress(DelaylabError):
                    keeper.release()


def build_all(parts: Sequence[LabPart]) -> tuple[list[BuildDone], JointKeeper]:
    """Carry out all plans completely; return the answers, and the keepers as one.

    On failure undo all of it, and raise DelaylabError that names the machine.
    """
    keepers: list[tuple[Machine, Keeper]] = []
    try:
        for part in parts:
            with deferred():
                keepers.append((part.machine, part.machine.keeper(part.plan.lab)))
        results = [_begin(part, keeper) for part, (_, keeper) in zip(parts, keepers, strict=True)]
        _finish(parts, keepers)
        built = [_checked(*each) for each in zip(parts, results, strict=True)]
    except BaseException:
        if keepers:
            JointKeeper(parts[0].plan.lab, keepers).release()
        raise
    return built, JointKeeper(parts[0].plan.lab, keepers)


def _begin(part: LabPart, keeper: Keeper) -> Result[BuildDone]:
    request = Build(
        lab=part.plan.lab,
        dir=str(part.machine.folder(part.plan.lab)),
        rootless=not part.machine.rights().root,
        record=part.record.model_dump(mode="json"),
        plan=part.plan,
    )
    try:
        return keeper.session.start(request)
    except AgentError as error:
        raise _explained(part, error) from None


def _finish(parts: Sequence[LabPart], keepers: Sequence[tuple[Machine, Keeper]]) -> None:
    """Wait until all parts are built; raise at once if one fails."""
    loop, left = Loop(), set(range(len(parts)))

    def read(index: int) -> bool:
        _, keeper = keepers[index]
        try:
            ended = keeper.session.poll_done()
        except AgentError as error:
            raise _explained(parts[index], error) from None
        if ended:
            left.discard(index)
        return not ended

    for index, (_, keeper) in enumerate(keepers):
        loop.add(keeper.session, partial(read, index))
    deadline_s = time.monotonic() + max(build_deadline_s(part.plan) for part in parts)
    if not loop.run(lambda: not left, deadline_s):
        slow = ", ".join(parts[index].machine.name for index in sorted(left))
        raise DelaylabError(f"not built in time on: {slow}", f"lab {parts[0].plan.lab}")


def _explained(part: LabPart, error: AgentError) -> DelaylabError:
    """Return the error of a part's agent as the user sees it; say where room lacks."""
    explained = part.machine.explained(error)
    if os.strerror(errno.ENOSPC) in explained.what and not explained.fix:
        folder = part.machine.folder(part.plan.lab).parent
        return DelaylabError(explained.what, explained.where, f"make room in {folder} there")
    return explained


def _checked(part: LabPart, result: Result[BuildDone]) -> BuildDone:
    """Return a keeper's answer; raise DelaylabError if it is not of the plan that it got."""
    try:
        built = result.done
    except AgentError as error:
        raise _explained(part, error) from None
    if built.agents.keys() != {agent.name for agent in part.plan.agents}:
        what = "it built other agents than those of its plan"
        raise DelaylabError(what, f"machine {part.machine.name}")
    return built


def _why_not_kept(part: tuple[Machine, Keeper]) -> DelaylabError | None:
    """Keep a part from now on; return why that failed, or None."""
    machine, keeper = part
    try:
        keeper.keep()
    except DelaylabError as error:
        return machine.explained(error)
    return None


def _stop(machine: Machine, name: str) -> None:
    for lab in machine.labs():
        if lab.name == name:
            lab.access.stop()
