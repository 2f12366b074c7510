"""Keepers of labs: each keeps one lab, or one machine's part of it."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from delaylab.agent.binary import agent_path
from delaylab.agent.replies import Built
from delaylab.agent.requests import Build
from delaylab.agent.result import AgentError
from delaylab.agent.session import Session
from delaylab.agent.stream import Descriptors
from delaylab.errors import DelaylabError
from delaylab.io.interrupts import deferred
from delaylab.io.values import JsonObject

if TYPE_CHECKING:
    from delaylab.plan.model import Plan

BUILD_DEADLINE_S = 120


class Keeper(Protocol):
    """The keeper of a lab: a process outside of the lab, which ends with this one unless kept."""

    session: Session

    def keep(self) -> None:
        """Keep the lab from now on, until it is taken down."""

    def release(self) -> None:
        """End the lab, and wait until it is gone. Ctrl-C does not end this wait."""


class LocalKeeper(Keeper):
    """The keeper of a lab on this machine."""

    def __init__(self, lab: str) -> None:
        self._process = subprocess.Popen(
            [agent_path(), "fabric"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._stdin, self._stdout = self._process.stdin, self._process.stdout
        pipes = Descriptors(self._stdout.fileno(), self._stdin.fileno(), self.release)
        self.session = Session(f"lab {lab}", pipes)

    def keep(self) -> None:
        """Keep the lab from now on, until it is taken down."""
        with deferred():
            self.session.keep()
            self._stdin.close()
            self._stdout.close()

    def release(self) -> None:
        """End the lab, and wait until it is gone. Ctrl-C does not end this wait."""
        with deferred():
            self._stdin.close()
            self._process.wait()
            self._stdout.close()


def build(plan: Plan, folder: Path, record: JsonObject, *, rootless: bool) -> tuple[Built, Keeper]:
    """Carry out a plan completely; return the answer and the keeper, which ends with this process.

    On failure undo all of it and raise DelaylabError. The keeper makes `folder` and puts `record`
    into it. With `rootless` it first makes a user namespace.
    """
    keeper: Keeper | None = None
    try:
        with deferred():
            keeper = LocalKeeper(plan.lab)
        request = Build(lab=plan.lab, dir=str(folder), rootless=rootless, record=record, plan=plan)
        return keeper.session.call(request, build_deadline_s(plan)).done, keeper
    except BaseException as error:
        if keeper is not None:
            keeper.release()
        if isinstance(error, AgentError):
            raise DelaylabError(error.what, error.where, error.fix) from None
        raise


def build_deadline_s(plan: Plan) -> float:
    """Return the seconds that the keeper may take, with its guests' own deadlines added."""
    guests = (agent.guest.deadline_ms / 1000 for agent in plan.agents if agent.guest)
    return BUILD_DEADLINE_S + max(guests, default=0)
