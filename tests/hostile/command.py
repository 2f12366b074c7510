"""The command line as a user calls it, with what it cost."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"
DELAYLAB = Path(sys.executable).parent / "delaylab"
PATIENCE_S = 60


@dataclass(frozen=True)
class Done:
    """A command that has ended: its exit code, what it said, and what it cost."""

    code: int
    out: str
    err: str
    cpu_s: float
    peak_mib: float


def delaylab(*argv: str, folder: Path) -> Done:
    """Call the command line in a folder; it is killed after a minute."""
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "DELAYLAB_RUN": str(folder)}
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(
            [DELAYLAB, *map(os.fsencode, argv)],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
        )
        alarm = threading.Timer(PATIENCE_S, process.kill)
        alarm.start()
        _, status, usage = os.wait4(process.pid, 0)
        alarm.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        said = []
        for file in (out, err):
            file.seek(0)
            said.append(file.read().decode("utf-8"))
    cpu_s = usage.ru_utime + usage.ru_stime
    return Done(process.returncode, said[0], said[1], cpu_s, usage.ru_maxrss / 1024)
