"""Which labs run on this machine: one folder each below the run directory.

`$DELAYLAB_RUN`; else `/run/delaylab` for root, `$XDG_RUNTIME_DIR/delaylab` or
`/tmp/delaylab-UID` for others::

    LAB/lock          held by the lab's keeper for as long as it lives (flock)
    LAB/lab.json      the lab's spec, the keeper's pid, the agents' pids and sockets
    LAB/*.sock        one per agent
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from delaylab.errors import BadInput, DelaylabError, NotHere
from delaylab.hosts.fabric import sweep

STOP_DEADLINE_S = 20


@dataclass(frozen=True)
class Running:
    """A lab that is up: what its folder says."""

    name: str
    folder: Path
    record: dict[str, Any]
    keeper: dict[str, Any]


def run_directory() -> Path:
    """Where this user's running labs have their folders; $DELAYLAB_RUN overrides it."""
    given = os.environ.get("DELAYLAB_RUN")
    if given:
        return Path(given)
    if os.geteuid() == 0:
        return Path("/run/delaylab")
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime and os.access(runtime, os.W_OK):
        return Path(runtime) / "delaylab"
    return Path(f"/tmp/delaylab-{os.geteuid()}")


def prepare(name: str) -> Path:
    """Where a lab's keeper shall make its folder; DelaylabError if the lab is up already."""
    top = run_directory()
    try:
        top.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise NotHere(f"cannot make {top}: {error.strerror}") from None
    if top.stat().st_uid != os.geteuid():
        raise NotHere(f"{top} belongs to another user", fix="remove it, or set XDG_RUNTIME_DIR")
    sweep(top)
    folder = top / name
    if is_alive(folder):
        raise DelaylabError(f"lab {name!r} is up already", fix=f"delaylab down {name}")
    return folder


def is_alive(folder: Path) -> bool:
    """Whether a lab's keeper lives: it holds the lock."""
    try:
        with (folder / "lock").open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def running() -> list[Running]:
    """All labs of this user that are up."""
    top = run_directory()
    folders = sorted(top.iterdir()) if top.is_dir() else []
    return [lab for folder in folders if (lab := _read(folder)) is not None]


def find(name: str | None) -> Running:
    """A running lab by name; without a name the only one there is."""
    labs = running()
    if name is None and len(labs) == 1:
        return labs[0]
    for lab in labs:
        if lab.name == name:
            return lab
    names = ", ".join(lab.name for lab in labs) or "none"
    if name is None and labs:
        raise BadInput(f"several labs are up: {names}", fix="say which: --lab NAME")
    what = f"no lab {name!r} is up" if name else "no lab is up"
    raise BadInput(f"{what} (up: {names})", fix="delaylab up LAB.yaml")


def stop(lab: Running) -> None:
    """Take a lab down and wait until it is gone."""
    with _process(lab.keeper["pid"]) as keeper:
        if keeper is not None and is_alive(lab.folder):
            signal.pidfd_send_signal(keeper, signal.SIGTERM)
            if not _ended(keeper, STOP_DEADLINE_S):
                signal.pidfd_send_signal(keeper, signal.SIGKILL)
                _ended(keeper, STOP_DEADLINE_S)
    sweep(lab.folder.parent)


def _read(folder: Path) -> Running | None:
    if not is_alive(folder):
        return None
    try:
        found = json.loads((folder / "lab.json").read_text())
    except (FileNotFoundError, ValueError):
        return None
    return Running(folder.name, folder, found["record"], found["keeper"])


@contextmanager
def _process(pid: int) -> Iterator[int | None]:
    """A pidfd, which names one process for good, whoever gets its number next."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        yield None
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _ended(pidfd: int, timeout_s: float) -> bool:
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    return bool(poll.poll(timeout_s * 1000))
