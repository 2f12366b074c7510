"""The labs that run on this machine, one folder each below the run directory.

The run directory is `$DELAYLAB_RUN`; else `/run/delaylab` for root, `$XDG_RUNTIME_DIR/delaylab` or
`/tmp/delaylab-UID` for others::

    LAB/lock          held by the lab's keeper for as long as it lives (flock); marks it as a lab
    LAB/lab.json      the lab's spec and plan, the keeper's pid, the agents' pids
    LAB/*.sock        one per agent

A directory that another user owns or can write to is never trusted.
"""

from __future__ import annotations

import fcntl
import os
import select
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, ValidationError

from delaylab.agent.replies import Built
from delaylab.errors import BadInput, DelaylabError, NotHere
from delaylab.hosts.directory import NotTrusted, TrustedDirectory
from delaylab.hosts.process import started_at
from delaylab.hosts.sweep import SweepResult, sweep
from delaylab.io.ownership import why_not_lasting

if TYPE_CHECKING:
    from delaylab.plan.model import Plan
    from delaylab.spec.lab import LabSpec

STOP_DEADLINE_S = 20
MARK = b"delaylab lab 1\n"
"""The first line of a lab's lock, with the number of the format."""


class LabRecord(BaseModel):
    """The part of `lab.json` that `up` writes: the lab's spec and plan, and when it was built.

    `created` is in seconds since the Unix epoch.
    """

    model_config = ConfigDict(frozen=True)

    spec: dict[str, object] = {}
    plan: dict[str, object] = {}
    created: float = 0.0


class LabFile(BaseModel):
    """The file `lab.json` of a lab that is up."""

    model_config = ConfigDict(frozen=True)

    record: LabRecord
    keeper: Built


@dataclass(frozen=True)
class Running:
    """A lab that is up, as its folder describes it."""

    name: str
    place: TrustedDirectory
    record: LabRecord
    keeper: Built

    @property
    def spec(self) -> LabSpec:
        """Return the lab's spec; raise DelaylabError if another version wrote it otherwise."""
        from delaylab.spec.lab import LabSpec  # noqa: PLC0415  most verbs need no spec

        try:
            return LabSpec.model_validate(self.record.spec)
        except ValidationError:
            raise self._other_version() from None

    @property
    def plan(self) -> Plan:
        """Return the plan that the lab was built by; raise DelaylabError as for `spec`."""
        from delaylab.plan import kept  # noqa: PLC0415  `ps` of many labs and `down` need none

        try:
            return kept.read(self.record.plan)
        except ValidationError:
            raise self._other_version() from None

    def _other_version(self) -> DelaylabError:
        what = f"lab {self.name!r} was started by another version of delaylab"
        return DelaylabError(what, fix=f"delaylab down {self.name}")


def run_directory() -> Path:
    """Return the directory of this user's running labs; $DELAYLAB_RUN overrides it."""
    given = os.environ.get("DELAYLAB_RUN")
    if given:
        return Path(given)
    if os.geteuid() == 0:
        return Path("/run/delaylab")
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime and _is_mine(Path(runtime)):
        return Path(runtime) / "delaylab"
    return Path(f"/tmp/delaylab-{os.geteuid()}")


def prepare(name: str) -> tuple[Path, SweepResult]:
    """Return the path for a new lab's folder, and what a sweep could not remove.

    Raises DelaylabError if the lab is up already, NotHere if the run directory cannot be trusted.
    """
    path = run_directory()
    why = None
    with suppress(OSError):  # what does not exist is made now, and all is checked when it is opened
        why = why_not_lasting(path)
    if why is not None:
        raise NotTrusted(f"is not trusted: {why}", str(path), "name another: DELAYLAB_RUN=DIR")
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except FileExistsError:
        raise NotHere("is not a directory", str(path), "name another: DELAYLAB_RUN=DIR") from None
    except OSError as error:
        raise NotHere(f"cannot make {path}: {error.strerror}") from None
    top = _top()
    if top is None:
        raise NotHere("was removed while a lab was started in it", str(path), "start it again")
    left = sweep(path)
    if (one := _enter(top, name)) and is_alive(one):
        raise DelaylabError(f"lab {name!r} is up already", fix=f"delaylab down {name}")
    return path / name, left


def is_alive(place: TrustedDirectory) -> bool:
    """Return True if a lab's keeper lives, which holds the lock."""
    try:
        lock = place.file("lock")
    except OSError:
        return False
    try:
        if os.pread(lock, len(MARK), 0) != MARK:
            return False
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


def running() -> list[Running]:
    """Return all labs of this user that are up; other entries of the run directory are ignored."""
    top = _top()
    if top is None:
        return []
    places = [place for name in top.names() if (place := _enter(top, name)) is not None]
    return [lab for place in places if (lab := _read(place)) is not None]


def find(name: str | None, fix: str = "say which: --lab NAME") -> Running:
    """Return a running lab by name; without a name the only one.

    Raises BadInput if there is none, or, with `fix`, if several are up and no name is given.
    """
    labs = running()
    if name is None and len(labs) == 1:
        return labs[0]
    for lab in labs:
        if lab.name == name:
            return lab
    names = ", ".join(lab.name for lab in labs) or "none"
    if name is None and labs:
        raise BadInput(f"several labs are up: {names}", fix=fix)
    what = f"no lab {name!r} is up" if name else "no lab is up"
    raise BadInput(f"{what} (up: {names})", fix="delaylab up LAB.yaml")


def stop(lab: Running) -> None:
    """Take a lab down and wait until it is gone; a later sweep removes what is left."""
    with _keeper(lab) as keeper:
        if keeper is not None and is_alive(lab.place):
            signal.pidfd_send_signal(keeper, signal.SIGTERM)
            if not _ended(keeper, STOP_DEADLINE_S):
                signal.pidfd_send_signal(keeper, signal.SIGKILL)
                _ended(keeper, STOP_DEADLINE_S)


def _top() -> TrustedDirectory | None:
    path = run_directory()
    try:
        return TrustedDirectory.open(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        fix = "name another run directory: DELAYLAB_RUN=DIR"
        raise NotHere(f"cannot be opened: {error.strerror}", str(path), fix) from None


def _enter(top: TrustedDirectory, name: str) -> TrustedDirectory | None:
    """Return a lab's place; None for anything else, such as a file or another user's folder."""
    if name.startswith("."):
        return None
    with suppress(OSError, NotTrusted):
        return top.enter(name)
    return None


def _read(place: TrustedDirectory) -> Running | None:
    if not is_alive(place):
        return None
    try:
        with os.fdopen(place.file("lab.json"), "rb") as file:
            found = LabFile.model_validate_json(file.read())
    except (OSError, ValueError):
        return None  # the lab is being built
    return Running(place.path.name, place, found.record, found.keeper)


def _is_mine(path: Path) -> bool:
    try:
        return path.stat().st_uid == os.geteuid() and os.access(path, os.W_OK)
    except OSError:
        return False


@contextmanager
def _keeper(lab: Running) -> Iterator[int | None]:
    """Yield a pidfd of a lab's keeper; None if it has ended, even if its number is in use again."""
    pid = lab.keeper.pid
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        yield None
        return
    try:
        # The open pidfd stays with its process, so the start time tells whether that is the keeper.
        yield descriptor if started_at(pid) == lab.keeper.start else None
    finally:
        os.close(descriptor)


def _ended(pidfd: int, timeout_s: float) -> bool:
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    return bool(poll.poll(timeout_s * 1000))
