"""Start of labs, and handles to labs that run."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from delaylab import hosts
from delaylab.dataset.records.doubts import DoubtKind, doubt
from delaylab.io.values import JsonObject
from delaylab.kinds import KINDS
from delaylab.lab import completion, files, own_stack
from delaylab.lab.running import Lab
from delaylab.machine import memory
from delaylab.machine.cpus import check_cpus
from delaylab.machine.rights import own_rights
from delaylab.plan import build
from delaylab.progress import Progress, silent
from delaylab.spec import LabSpec


def start(spec: LabSpec, *, name: str | None = None, progress: Progress = silent) -> Lab:
    """Start a lab, completely or not at all; it outlives this process."""
    lab, _ = _build(spec, name or spec.lab, linger=True, accounting=False, progress=progress)
    return lab


def attach(name: str | None, fix: str = "say which: --lab NAME") -> Lab:
    """Return the running lab of this name; without a name, the only one that runs.

    `fix` says how to name one if several run.
    """
    return attached(hosts.find(name, fix))


def attached(running: hosts.Running) -> Lab:
    """Return handles to a running lab."""
    spec = running.spec
    plan = build(spec, KINDS, own_rights(), name=running.name)
    return Lab(running.name, spec, plan, running.place, running.keeper)


@contextmanager
def temporary(
    spec: LabSpec, *, accounting: bool = True, progress: Progress = silent
) -> Iterator[Lab]:
    """Run a lab under a unique name for the length of a block, and remove it on every exit."""
    name = f"{spec.lab[:20]}-{os.getpid():x}-{time.monotonic_ns() & 0xFFFFFF:06x}"
    lab, keeper = _build(spec, name, linger=False, accounting=accounting, progress=progress)
    try:
        yield lab
    finally:
        lab.close()
        keeper.release()
        hosts.sweep(lab.place.path.parent)


def _build(
    spec: LabSpec, name: str, *, linger: bool, accounting: bool, progress: Progress
) -> tuple[Lab, hosts.Keeper]:
    rights = own_rights()
    plan = build(spec, KINDS, rights, name=name, accounting=accounting)
    files.check_files(spec)
    check_cpus(spec)
    memory.check_memory(spec, rights)
    own_stack.check_addresses(plan, rights)
    plan, notes = completion.complete(plan, progress)
    record: JsonObject = {
        "spec": spec.model_dump(mode="json", by_alias=True),
        "created": time.time(),
    }
    folder, left = hosts.prepare(name)
    keeper = hosts.build(plan, folder, rights, record, linger=linger)
    notes += [
        doubt(DoubtKind.FABRIC, f"left by a lab that was killed: {each}", "")
        for each in left.failed
    ]
    return Lab(name, spec, plan, hosts.TrustedDirectory.open(folder), keeper.built, notes), keeper
