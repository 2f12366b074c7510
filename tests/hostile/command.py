"""The command line as a user calls it, with what it cost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import IO

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


# A process counts as its own peak what the one that it was forked from had: pytest may be large, so
# a small process stands between. It says what its child's end was and what that cost.
BETWEEN = """
import json, os, sys
pid = os.posix_spawn(sys.argv[2], sys.argv[2:], os.environ)
_, status, usage = os.wait4(pid, 0)
code = os.waitstatus_to_exitcode(status)
cost = [code, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024]
os.write(int(sys.argv[1]), json.dumps(cost).encode())
"""


def delaylab(*argv: str, folder: Path) -> Done:
    """Call the command line in a folder; it is killed after a minute."""
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "DELAYLAB_RUN": str(folder)}
    with (
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
        tempfile.TemporaryFile() as cost,
    ):
        handle = cost.fileno()
        process = subprocess.Popen(
            [sys.executable, "-S", "-c", BETWEEN, str(handle), DELAYLAB, *map(os.fsencode, argv)],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            pass_fds=(handle,),
            process_group=0,
        )
        alarm = threading.Timer(PATIENCE_S, os.killpg, (process.pid, signal.SIGKILL))
        alarm.start()
        process.wait()
        alarm.cancel()
        said, told, spent = (_read(file) for file in (out, err, cost))
    code, cpu_s, peak_mib = json.loads(spent or "[-9, 1e9, 1e9]")
    return Done(code, said, told, cpu_s, peak_mib)


def _read(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8")
