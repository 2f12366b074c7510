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
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from delaylab.errors import DelaylabError, NotHere
from delaylab.io.ownership import why_not_lasting
from delaylab.machines.directory import NotTrusted, TrustedDirectory
from delaylab.machines.machine import LabRecord
from delaylab.machines.process import started_at
from delaylab.machines.sweep import SweepResult, sweep

if TYPE_CHECKING:
    from delaylab.agent.session import Session
    from delaylab.agent.wire.sessions import BuildDone

STOP_DEADLINE_S = 20
MARK = b"delaylab lab 1\n"
"""The first line of a lab's lock, with the number of the format."""


@dataclass(frozen=True)
class LocalAccess:
    """The way to a lab's processes by its folder."""

    folder: TrustedDirectory
    keeper: BuildDone

    @property
    def path(self) -> PurePosixPath:
        """Return the path of the folder."""
        return PurePosixPath(self.folder.path)

    def folder_of(self, agent: str) -> PurePosixPath:
        """Return the path of the folder, which is that of all agents."""
        return self.path

    def names(self) -> list[str]:
        """Return the names of what is in the folder."""
        return self.folder.names()

    def connect(self, agent: str) -> Session:
        """Open a session with an agent; raise AgentGone if there is none."""
        return self.folder.connect(f"{agent}.sock", agent)

    def stop(self) -> None:
        """Take the lab down and wait until it is gone."""
        with _process(self.keeper) as keeper:
            if keeper is not None and is_alive(self.folder):
                signal.pidfd_send_signal(keeper, signal.SIGTERM)
                if not _ended(keeper, STOP_DEADLINE_S):
                    signal.pidfd_send_signal(keeper, signal.SIGKILL)
                    _ended(keeper, STOP_DEADLINE_S)


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


def make() -> TrustedDirectory:
    """Return the run directory, which is made if needed; raise NotHere if it cannot be trusted."""
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
    return top


def prepare(name: str) -> SweepResult:
    """Make the run directory if needed, and return what a sweep of it could not remove.

    Raises DelaylabError if the lab is up already, NotHere if the run directory cannot be trusted.
    """
    top = make()
    left = sweep(top.path)
    if (one := _enter(top, name)) and is_alive(one):
        raise DelaylabError(f"lab {name!r} is up already", fix=f"delaylab down {name}")
    return left


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


def running() -> list[tuple[LocalAccess, LabRecord]]:
    """Return all labs of this user that are up; other entries of the run directory are ignored."""
    top = _top()
    if top is None:
        return []
    places = [place for name in top.names() if (place := _enter(top, name)) is not None]
    return [lab for place in places if (lab := _read(place)) is not None]


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


def _read(place: TrustedDirectory) -> tuple[LocalAccess, LabRecord] | None:
    if not is_alive(place):
        return None
    from delaylab.machines.lab_json import LabJson  # noqa: PLC0415  only where a lab is up

    try:
        with os.fdopen(place.file("lab.json"), "rb") as file:
            found = LabJson.model_validate_json(file.read())
    except (OSError, ValueError):
        return None  # the lab is being built
    return LocalAccess(place, found.keeper), found.record


def _is_mine(path: Path) -> bool:
    try:
        return path.stat().st_uid == os.geteuid() and os.access(path, os.W_OK)
    except OSError:
        return False


@contextmanager
def _process(keeper: BuildDone) -> Iterator[int | None]:
    """Yield a pidfd of a lab's keeper; None if it has ended, even if its number is in use again."""
    pid = keeper.pid
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        yield None
        return
    try:
        # The open pidfd stays with its process, so the start time tells whether that is the keeper.
        yield descriptor if started_at(pid) == keeper.start else None
    finally:
        os.close(descriptor)


def _ended(pidfd: int, timeout_s: float) -> bool:
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    return bool(poll.poll(timeout_s * 1000))
