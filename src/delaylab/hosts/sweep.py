"""Removal of what killed keepers left: control groups, folders, sockets."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

from delaylab.agent.binary import NAME, agent_path
from delaylab.errors import DelaylabError


@dataclass(frozen=True)
class SweepResult:
    """The leftovers of a sweep: entries that are not labs, and failures to remove, with reasons."""

    foreign: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()


def sweep(folder: Path) -> SweepResult:
    """Sweep a run directory; running labs and entries that are not labs are left alone.

    Raises DelaylabError if the directory cannot be read.
    """
    swept = subprocess.run(
        [agent_path(), "fabric", "--sweep", str(folder)],
        check=False,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        process_group=0,  # Ctrl-C is for this process, which then waits for the sweep
    )
    if swept.returncode != 0:
        raise DelaylabError(swept.stderr.strip().removeprefix(f"{NAME}: "))
    said = json.loads(swept.stdout)
    failed = tuple(f"{folder / each['name']}: {each['why']}" for each in said["failed"])
    return SweepResult(tuple(said["foreign"]), failed)
