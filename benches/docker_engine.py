"""A container engine that runs before a lab and after it, as a system's does."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import docker

from delaylab.kinds.docker import SCRIPT

READY_S = 30


@contextmanager
def running(folder: Path) -> Iterator[docker.DockerClient]:
    """Run an engine that keeps its files in this new folder, until the block ends; give its client.

    Its socket is `docker.sock` there. It has a `/run` of its own, in which it sees the folder that
    this one is in.
    """
    folder.mkdir(parents=True)
    (folder / "daemon.json").write_text("{}")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ready:
        # It reports that it is ready as to systemd (sd_notify(3)).
        ready.bind(str(folder / "ready"))
        ready.settimeout(READY_S)
        environment = {**os.environ, "NOTIFY_SOCKET": str(folder / "ready")}
        process = subprocess.Popen(_command(folder), env=environment, stdin=subprocess.DEVNULL)
        try:
            while b"READY=1" not in ready.recv(4096):
                pass
            with closing(docker.DockerClient(f"unix://{folder}/docker.sock")) as client:
                yield client
        finally:
            process.terminate()
            process.wait()


def _command(folder: Path) -> list[str]:
    hide_cpu_groups = "yes"
    return [
        *("unshare", "--mount", "sh", str(SCRIPT), str(folder.parent), hide_cpu_groups),
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
