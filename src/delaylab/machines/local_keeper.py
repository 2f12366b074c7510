"""The keeper of a lab on this machine: a process that this one starts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from delaylab.agent.binary import agent_path
from delaylab.agent.result import AgentError
from delaylab.agent.session import Session
from delaylab.agent.stream import Descriptors
from delaylab.agent.wire.sessions import Build, BuildDone
from delaylab.errors import DelaylabError
from delaylab.io.environment import inherited
from delaylab.io.interrupts import deferred
from delaylab.io.values import JsonObject
from delaylab.machines.keeper import Keeper, build_deadline_s

if TYPE_CHECKING:
    from delaylab.plan.model import Plan


class LocalKeeper(Keeper):
    """The keeper of a lab on this machine."""

    def __init__(self, lab: str) -> None:
        self._process = subprocess.Popen(
            [agent_path(), "fabric"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            env=_environment(),
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


def _environment() -> dict[str, str]:
    """Return the environment of a lab's processes: this one's.

    Programs beside this Python, such as `delaylab` itself, are found last.
    """
    path = os.environ.get("PATH", os.defpath)
    return {**inherited(), "PATH": f"{path}:{Path(sys.executable).parent}"}


def build(
    plan: Plan, folder: Path, record: JsonObject, *, rootless: bool
) -> tuple[BuildDone, Keeper]:
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
