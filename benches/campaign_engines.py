"""Engines that run a campaign's trials: delaylab over dask, HyperQueue, and Ray."""

from __future__ import annotations

import os
import signal
import subprocess
from abc import ABC, abstractmethod
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.doing.campaigns.cluster import STUDY, Cluster
from tests.doing.campaigns.test_kills import inside
from tests.waiting import wait_until

from benches.command import DELAYLAB
from delaylab_study.dataset.store import finished

COUNTED = """\
factors:
  load: {{counted: [{{command: "echo begun >> {folder}/begun; exec sleep 600", on: other}}]}}
"""
"""A load that only counts: it writes a line when a trial's measurement begins."""
TRIAL = """\
#!/bin/sh -e
exec {delaylab} run {folder}/study.yaml --only size=$2 --out {folder}/results/$1
"""
"""The program of an engine that knows no trials: trial `$1` with size `$2`."""
DRIVER = """\
import subprocess, sys
from pathlib import Path
import ray
folder, address, here, trials = sys.argv[1:]
ray.init(address=address, _node_ip_address=here, log_to_driver=False)

@ray.remote(num_cpus=1)
def trial(number, size):
    subprocess.run([f"{folder}/trial", str(number), size], check=True)

done = {int(each.parents[2].name) for each in Path(folder).glob("results/*/trials/*/trial.json")}
left = [n for n in range(int(trials)) if n not in done]
running = [trial.remote(n, ("small", "large")[n % 2]) for n in left]
while running:
    ended, running = ray.wait(running)
    for each in ended:
        try:
            ray.get(each)
        except Exception as error:
            print(error, file=sys.stderr)
"""


@dataclass(frozen=True)
class Machines:
    """Networks: one for the coordinator, and one for each worker, by the worker's name."""

    prefix: str

    @property
    def hub(self) -> str:
        return f"{self.prefix}-hub"

    @property
    def hub_address(self) -> str:
        return "10.77.9.1"

    @property
    def workers(self) -> dict[str, str]:
        return {f"lab{n}": f"{self.prefix}-lab{n}" for n in range(1, 5)}

    def address(self, worker: str) -> str:
        return f"10.77.9.1{worker.removeprefix('lab')}"

    def cut(self, worker: str) -> None:
        """Take the network to a worker away."""
        subprocess.run(["ip", "-n", self.hub, "link", "set", worker, "down"], check=True)


class Engine(ABC):
    """A way to run the trials of a study on four workers."""

    def __init__(self, folder: Path, machines: Machines, trials: int) -> None:
        self.folder, self.machines, self.trials = folder, machines, trials
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        study = folder / "study.yaml"
        counted = COUNTED.format(folder=folder)
        study.write_text(STUDY.replace("factors:\n", counted).replace("REPEATS", "1"))
        trial = folder / "trial"
        trial.write_text(TRIAL.format(folder=folder, delaylab=DELAYLAB))
        trial.chmod(0o755)

    @abstractmethod
    def start(self) -> None:
        """Start what coordinates, and the workers; wait until all are there."""

    @abstractmethod
    def begin(self) -> None:
        """Hand in the trials."""

    @abstractmethod
    def kill_coordinator(self) -> list[str]:
        """Kill what knows which trials are done; then do and return what is done by hand."""

    def worker_processes(self, worker: str) -> list[int]:
        """Return the processes of a worker."""
        return tree(self.running[worker].pid)

    def kill_worker(self, worker: str) -> None:
        """Kill a worker."""
        self._kill(worker)

    def done(self) -> int:
        """Return the number of trials in the results."""
        return len([*self.folder.glob("results/*/trials/*/trial.json")])

    def begun(self) -> int:
        """Return how often the measurement of a trial has begun."""
        log = self.folder / "begun"
        return len(log.read_text().splitlines()) if log.exists() else 0

    def close(self) -> None:
        """End all processes."""
        for process in self.running.values():
            for pid in reversed(tree(process.pid)):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGTERM)
        for name in list(self.running):
            try:
                self.running[name].wait(30)
            except subprocess.TimeoutExpired:
                self._kill(name)

    def _run(self, name: str, network: str, *argv: str) -> None:
        log = (self.folder / f"{name}.log").open("ab")
        self.running[name] = subprocess.Popen(
            [*inside(network), *argv],
            cwd=self.folder,
            env={**os.environ, "TMPDIR": str(self.folder)},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )

    def _kill(self, name: str) -> None:
        process = self.running.pop(name)
        process.kill()
        process.wait()

    def _log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text()


class OverDask(Engine):
    """The campaigns of delaylab itself, over dask."""

    def start(self) -> None:
        hub = inside(self.machines.hub)
        self._cluster = Cluster(self.folder, {}, [], self.machines.hub_address, hub)
        for name, network in self.machines.workers.items():
            self._cluster.worker(name, prefix=inside(network))

    def begin(self) -> None:
        text = (self.folder / "study.yaml").read_text()
        whole = self.folder / "whole.yaml"
        whole.write_text(text.replace("repeat: 1", f"repeat: {self.trials // 2}"))
        self._campaign(str(whole), "--out", str(self.folder / "data"))

    def _campaign(self, *options: str) -> None:
        on = ["--on", self._cluster.address]
        self._run("command", self.machines.hub, str(DELAYLAB), "run", *options, *on)

    def kill_coordinator(self) -> list[str]:
        self._kill("command")
        self._campaign("--resume", str(self.folder / "data"))
        return ["`delaylab run --resume`"]

    def kill_worker(self, worker: str) -> None:
        """Kill a worker."""
        self._cluster.kill(worker)

    def worker_processes(self, worker: str) -> list[int]:
        """Return the processes of a worker."""
        return tree(self._cluster.workers[worker].pid)

    def done(self) -> int:
        data = self.folder / "data"
        return len(finished(data)) if (data / "study.json").exists() else 0

    def close(self) -> None:
        """End all processes."""
        super().close()
        self._cluster.close()


class HyperQueue(Engine):
    """A HyperQueue server with a journal, and its workers."""

    def start(self) -> None:
        self._server()
        for name, network in self.machines.workers.items():
            self._worker(name, network)
        wait_until(lambda: self._hq("worker", "list").count("RUNNING") >= 4)

    def begin(self) -> None:
        trial = f"{self.folder}/trial $HQ_TASK_ID $([ $((HQ_TASK_ID % 2)) = 0 ] && echo small "
        command = ["sh", "-c", f"{trial}|| echo large)"]
        self._hq("submit", "--array", f"0-{self.trials - 1}", "--cpus", "1", *command)

    def kill_coordinator(self) -> list[str]:
        self._kill("server")
        left = [name for name in self.machines.workers if name in self.running]
        self._server()
        for name in left:
            # A worker ends with its server; one that was cut off does not hear of it.
            self._kill(name)
            self._worker(name, self.machines.workers[name])
        return ["`hq server start --journal`", f"`hq worker start` on {len(left)} machines"]

    def _server(self) -> None:
        journal = ["--journal", str(self.folder / "journal")]
        where = ["--host", self.machines.hub_address]
        self._run("server", self.machines.hub, *self._hq_at, "server", "start", *where, *journal)
        wait_until(lambda: "Server PID" in self._log("server") or self._is_up())

    def _worker(self, name: str, network: str) -> None:
        self._run(name, network, *self._hq_at, "worker", "start", "--cpus", "1")

    @property
    def _hq_at(self) -> list[str]:
        return ["hq", "--server-dir", str(self.folder / "hq")]

    def _is_up(self) -> bool:
        done = self._asked("server", "info")
        return done.returncode == 0

    def _hq(self, *argv: str) -> str:
        done = self._asked(*argv)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def _asked(self, *argv: str) -> subprocess.CompletedProcess[str]:
        within = inside(self.machines.hub)
        return subprocess.run(
            [*within, *self._hq_at, *argv],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )


class Ray(Engine):
    """A Ray head, its workers, and a driver that hands in tasks."""

    def start(self) -> None:
        (self.folder / "driver.py").write_text(DRIVER)
        hub, there = self.machines.hub, self.machines.hub_address
        head = ["--head", "--node-ip-address", there, "--port", "6379", "--num-cpus", "0"]
        small = ["--object-store-memory", "100000000", "--block", "--disable-usage-stats"]
        folder = ["--temp-dir", str(self.folder / "r"), "--include-dashboard", "false"]
        self._run("head", hub, "ray", "start", *head, *small, *folder)
        wait_until(lambda: "Ray runtime started" in self._log("head"))
        for name, network in self.machines.workers.items():
            own = ["--node-ip-address", self.machines.address(name), "--num-cpus", "1"]
            self._run(name, network, "ray", "start", "--address", f"{there}:6379", *own, *small)
            # Nodes that start at the same time on one machine take each other's ports.
            wait_until(lambda at=name: "Ray runtime started" in self._log(at))  # type: ignore[misc]

    def begin(self) -> None:
        there = self.machines.hub_address
        python = Path(str(subprocess.check_output(["which", "ray"], text=True)).strip()).parent
        argv = [str(self.folder), f"{there}:6379", there, str(self.trials)]
        driver = [str(python / "python"), str(self.folder / "driver.py"), *argv]
        self._run("driver", self.machines.hub, *driver)

    def kill_worker(self, worker: str) -> None:
        """Kill the raylet, which is the worker: its processes are children of it."""
        for pid in tree(self.running[worker].pid):
            if "raylet" in Path(f"/proc/{pid}/comm").read_text():
                os.kill(pid, signal.SIGKILL)

    def kill_coordinator(self) -> list[str]:
        self._kill("driver")
        self.begin()
        return ["the driver again, which must know what is done"]


ENGINES: dict[str, type[Engine]] = {
    "delaylab, over dask": OverDask,
    "HyperQueue": HyperQueue,
    "Ray": Ray,
}


def tree(pid: int) -> list[int]:
    """Return a process and all that it started, directly or not."""
    found = [pid]
    for each in found:
        for children in Path(f"/proc/{each}/task").glob("*/children"):
            with suppress(OSError):
                found += map(int, children.read_text().split())
    return found
