"""Start of a lab's keeper on this machine."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from delaylab.agent.binary import agent_path
from delaylab.agent.replies import Built
from delaylab.agent.requests import Build
from delaylab.agent.result import AgentError
from delaylab.agent.session import Session
from delaylab.errors import DelaylabError
from delaylab.io.values import JsonObject
from delaylab.plan import Plan, Rights

BUILD_DEADLINE_S = 120


@dataclass
class Keeper:
    """A lab's keeper: `built` is its answer; `release` ends an attached lab."""

    built: Built
    release: Callable[[], None]


def build(plan: Plan, folder: Path, rights: Rights, record: JsonObject, *, linger: bool) -> Keeper:
    """Carry out a plan completely; on failure undo all of it and raise DelaylabError.

    The keeper makes `folder` and puts `record` into it. A lab without `linger` ends with this
    process at the latest.
    """
    process = subprocess.Popen(
        [agent_path(), "fabric"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    stdin, stdout = process.stdin, process.stdout

    def release() -> None:
        stdin.close()
        process.wait()
        stdout.close()

    session = Session(f"lab {plan.lab}", stdout.fileno(), stdin.fileno(), release)
    try:
        request = Build(
            lab=plan.lab,
            dir=str(folder),
            linger=linger,
            rootless=not rights.root,
            record=record,
            plan=plan,
        )
        built = session.call(request, _deadline_s(plan)).done
    except AgentError as error:
        release()
        raise DelaylabError(error.what, error.where, error.fix) from None
    except BaseException:
        release()
        raise
    if linger:
        stdin.close()
        stdout.close()
    return Keeper(built, release)


def _deadline_s(plan: Plan) -> float:
    """Return the seconds that the keeper may take, with its guests' own deadlines added."""
    guests = (agent.guest.deadline_ms / 1000 for agent in plan.agents if agent.guest)
    return BUILD_DEADLINE_S + max(guests, default=0)
