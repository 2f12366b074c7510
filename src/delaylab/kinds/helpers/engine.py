"""A container engine: the one of this machine, or one of the lab's own."""

from __future__ import annotations

import os
import select
import socket
import subprocess
from pathlib import Path

import docker
from docker.errors import DockerException

from delaylab.errors import DelaylabError, NotHere

SYSTEM_SOCKET = Path("/var/run/docker.sock")
SCRIPT = Path(__file__).with_name("dockerd.sh")
START_DEADLINE_S = 30
LAST_LINES, MOST_LOG = 3, 64 << 10
"""The lines of the log that an error quotes, and the bytes of its end that are read for them."""


def find() -> docker.DockerClient | None:
    """Return the engine of $DOCKER_HOST, or the system's if it answers, else None.

    Raises NotHere if $DOCKER_HOST names one that does not answer.
    """
    named = os.environ.get("DOCKER_HOST")
    if not named and not SYSTEM_SOCKET.exists():
        return None
    try:
        client = docker.DockerClient(named or f"unix://{SYSTEM_SOCKET}")
        client.ping()
    except (DockerException, OSError) as error:
        if not named:
            return None
        reason = str(error).splitlines()[0]
        fix = "start that engine, or unset DOCKER_HOST: then the lab gets one of its own"
        raise NotHere(
            f"no container engine answers: {reason}", f"DOCKER_HOST={named}", fix
        ) from None
    return client


def start(
    folder: Path, *, hide_cpu_groups: bool
) -> tuple[docker.DockerClient, subprocess.Popen[bytes]]:
    """Start an engine that keeps all its files in `folder`; it ends with the lab, or when told to.

    `hide_cpu_groups` is passed on to dockerd.sh.
    """
    (folder / "daemon.json").write_text("{}")
    with (
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ready,
        (folder / "dockerd.log").open("wb") as log,
    ):
        ready.bind(str(folder / "ready"))
        process = subprocess.Popen(
            _command(folder, hide_cpu_groups=hide_cpu_groups),
            env={**os.environ, "NOTIFY_SOCKET": str(folder / "ready")},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
        _wait(process, ready, folder / "dockerd.log")
    return docker.DockerClient(f"unix://{folder}/docker.sock"), process


def _command(folder: Path, *, hide_cpu_groups: bool) -> list[str]:
    return [
        *("unshare", "--mount", "sh", str(SCRIPT)),
        *(str(folder.parent), "yes" if hide_cpu_groups else "no"),
        *(
            "dockerd",
            "--config-file",
            f"{folder}/daemon.json",
            "-H",
            f"unix://{folder}/docker.sock",
        ),
        *("--data-root", f"{folder}/data", "--exec-root", f"{folder}/exec"),
        *("--pidfile", f"{folder}/dockerd.pid", "--exec-opt", "native.cgroupdriver=cgroupfs"),
        *("--iptables=false", "--ip6tables=false", "--bridge=none", "--log-level=error"),
    ]


def _wait(process: subprocess.Popen[bytes], ready: socket.socket, log: Path) -> None:
    """Wait until the engine reports that it is ready, as to systemd (sd_notify(3)).

    Raises DelaylabError if it ends, or is not ready within START_DEADLINE_S.
    """
    pidfd = os.pidfd_open(process.pid)
    try:
        while True:
            said, _, _ = select.select([ready.fileno(), pidfd], [], [], START_DEADLINE_S)
            if ready.fileno() in said and b"READY=1" in ready.recv(4096):
                return
            if ready.fileno() not in said:
                break
    finally:
        os.close(pidfd)
    why = "has ended" if said else f"was not ready within {START_DEADLINE_S} s"
    last = " | ".join(_end_of(log).splitlines()[-LAST_LINES:])
    raise DelaylabError(f"dockerd {why}: {last}")


def _end_of(log: Path) -> str:
    with log.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - MOST_LOG))
        return file.read(MOST_LOG).decode(errors="replace")
