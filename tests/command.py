"""The command line, called as a user calls it, without importing it anew for each command.

Importing the verbs costs more than most of them do. A server imports them, once for each process of
pytest. Each command is a child of the server, and runs what the program `delaylab` runs.
"""

from __future__ import annotations

import functools
import json
import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from delaylab.verbs.progress_bar import MARK
from tests.waiting import PATIENCE_S

SOURCE = Path(__file__).parent.parent / "src"
DELAYLAB = Path(sys.executable).parent / "delaylab"
MOST_BYTES = 1 << 17
"""The most bytes of a request to the server."""
NETWORK = 0x40000000
"""The kind of a network namespace (`CLONE_NEWNET`, setns(2))."""
OWN_TUN = (
    'mount -t tmpfs -o mode=755 none /dev/net && mknod -m "$0" /dev/net/tun c 10 200 && exec "$@"'
)
"""Gives a command a `/dev/net/tun` of its own, in a mount namespace that nobody else sees."""
FOR_ALL, FOR_ROOT = "666", "600"
"""Modes of `/dev/net/tun`: that of most distributions, and that of a kernel without udev."""


@dataclass(frozen=True)
class Done:
    """A command that has ended: its exit code, what it said, and what it cost after its imports."""

    code: int
    out: str
    err: str
    cpu_s: float
    peak_mib: float


# It first says what its imports cost. Models are built at first use: here, once for all commands.
# A command ends as Python does, but leaves its modules to the kernel: destroying them, which copies
# the memory that it shares with the server, took 85 of the 95 ms of a command that does nothing.
SERVER = f"""
import atexit, ctypes, gc, json, os, pkgutil, select, signal, socket, sys, threading
import delaylab
for module in pkgutil.walk_packages(delaylab.__path__, "delaylab."):
    if not module.name.endswith("__main__"):
        __import__(module.name)
from delaylab.__main__ import main
from delaylab_study.dataset.records import study, trial
from delaylab.spec import lab
from delaylab_study.study_file import model as study_file
for model in (study.StudyRecord, trial.TrialRecord, lab.LabSpec, study_file.StudySpec):
    model.model_rebuild()
gc.freeze()
asking = socket.socket(fileno=int(sys.argv[1]))
asking.send(json.dumps(sum(os.times()[:2])).encode())
while True:
    request, files, _, _ = socket.recv_fds(asking, {MOST_BYTES}, 3)
    if not request:
        sys.exit()
    asked = json.loads(request)
    pid = os.fork()
    if not pid:
        break
    for file in files:
        os.close(file)
    ended = os.pidfd_open(pid)
    late = not select.select([ended], [], [], asked["timeout"])[0]
    if late:
        os.kill(pid, signal.SIGKILL)
    os.close(ended)
    _, status, usage = os.wait4(pid, 0)
    code = None if late else os.waitstatus_to_exitcode(status)
    cost = [code, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024]
    asking.send(json.dumps(cost).encode())
asking.close()
for number, file in enumerate(files):
    os.dup2(file, number)
    os.close(file)
sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", closefd=False)
sys.stderr = open(2, "w", buffering=1, closefd=False)
if asked["network"]:
    namespace = os.open(asked["network"], os.O_RDONLY)
    if ctypes.CDLL(None, use_errno=True).setns(namespace, {NETWORK}):
        raise OSError(ctypes.get_errno(), "setns", asked["network"])
    os.close(namespace)
os.chdir(asked["folder"])
os.environ.clear()
os.environ.update(asked["environment"])
sys.argv = asked["argv"]
try:
    main()
    code = 0
except SystemExit as end:
    code = end.code
except BaseException:
    sys.excepthook(*sys.exc_info())
    code = 1
if isinstance(code, str):
    print(code, file=sys.stderr)
threading._shutdown()
atexit._run_exitfuncs()
try:
    sys.stdout.flush()
    sys.stderr.flush()
except (OSError, ValueError):
    code = code or 120
os._exit(code if isinstance(code, int) else int(code is not None))
"""


def as_user(user: int, argv: Sequence[str], tun: str = FOR_ALL) -> list[str]:
    """Return a command that runs another as an ordinary user, with `/dev/net/tun` of this mode.

    Root alone can start it. What a test finds does not depend on the mode of this machine's device.
    """
    become = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
    return ["unshare", "--mount", "sh", "-c", OWN_TUN, tun, *become, *argv]


@functools.cache
def _server(python: str, user: int | None, tun: str) -> tuple[socket.socket, float]:
    """Start the server, which ends with this process; return a socket to it and what it cost."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    # Tests look for processes that their labs left, by the run directory in their environment.
    environment = {name: each for name, each in os.environ.items() if name != "DELAYLAB_RUN"}
    packages = [path for path in sys.path if path.endswith("site-packages")]
    with its:
        argv = [python, "-c", SERVER, str(its.fileno())]
        subprocess.Popen(
            argv if user is None else as_user(user, argv, tun),
            env={**environment, "PYTHONPATH": ":".join([str(SOURCE), *packages])},
            cwd="/",
            stdin=subprocess.DEVNULL,
            pass_fds=[its.fileno()],
        )
    return ours, json.loads(ours.recv(MOST_BYTES))


def imports_s() -> float:
    """Return the CPU time in s that importing all verbs took."""
    return _server(sys.executable, None, FOR_ALL)[1]


def delaylab(
    *argv: str,
    folder: Path,
    environment: Mapping[str, str] | None = None,
    timeout_s: float = PATIENCE_S,
    python: str = sys.executable,
    user: int | None = None,
    tun: str = FOR_ALL,
    network: Path | None = None,
) -> Done:
    """Call the command line in a folder, which has its labs unless an environment is given.

    `network` is the file of a network namespace (namespaces(7)) to run it in, else it is this one.
    `tun` is the mode of `/dev/net/tun` for another user.
    Returns once no process can write to its output any more. Raises TimeoutExpired, as
    `subprocess.run` does, if the command had to be killed at its timeout.
    """
    environment = environment or {**os.environ, "DELAYLAB_RUN": str(folder)}
    server, _ = _server(python, user, tun)
    (out, its_out), (err, its_err), nothing = os.pipe(), os.pipe(), os.open(os.devnull, os.O_RDONLY)
    asked = {"argv": [str(DELAYLAB), *argv], "folder": str(folder), "timeout": timeout_s}
    asked |= {"environment": {**environment}, "network": network and str(network)}
    request = json.dumps(asked).encode()
    files = [nothing, its_out, its_err]
    socket.send_fds(server, [request], files)
    for file in files:
        os.close(file)
    try:
        with ThreadPoolExecutor(2) as pool:
            said, complained = pool.map(_all_of, (out, err))
        code, cpu_s, peak_mib = json.loads(server.recv(MOST_BYTES))
    except BaseException:
        _server.cache_clear()  # its answer to this command may still come
        raise
    if code is None:
        raise subprocess.TimeoutExpired(argv, timeout_s)
    return Done(code, said, without_progress(complained), cpu_s, peak_mib)


def without_progress(said: str) -> str:
    """Return what was said, without the lines about what lasts: a busy machine adds them."""
    return "".join(line for line in said.splitlines(keepends=True) if not line.startswith(MARK))


def _all_of(file: int) -> str:
    with open(file, encoding="utf-8") as opened:
        return opened.read()
