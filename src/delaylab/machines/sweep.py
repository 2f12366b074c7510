"""Removal of what killed keepers left: control groups, folders, sockets."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

from delaylab.agent.binary import agent_path
from delaylab.agent.failures import failed_command

CLUSTERS = ".clusters"
"""The folder in the run directory with the files of labs over several machines."""
REMEDY = "end what holds it, then: delaylab down --all; or remove it by hand"


@dataclass(frozen=True)
class Remains:
    """Remains of a lab that could not be removed, and the reason."""

    lab: str
    place: Path
    why: str

    def __str__(self) -> str:
        return f"{self.place}: {self.why} ({REMEDY})"


@dataclass(frozen=True)
class SweepResult:
    """The leftovers of a sweep: entries that are no labs, and remains that it cannot remove."""

    foreign: tuple[str, ...] = ()
    failed: tuple[Remains, ...] = ()


def sweep(folder: Path) -> SweepResult:
    """Sweep a run directory; running labs and entries that are not labs are left alone.

    What fails for one lab is in the result, and stops no other.

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
        raise failed_command(swept.stderr)
    said = json.loads(swept.stdout)
    failed = (Remains(one["name"], folder / one["name"], one["why"]) for one in said["failed"])
    foreign = (name for name in said["foreign"] if name != CLUSTERS)
    return SweepResult(tuple(foreign), tuple(failed))
