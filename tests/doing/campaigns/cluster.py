"""A dask scheduler and workers of delaylab for tests, each a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.doing.conftest import DELAYLAB
from tests.waiting import wait_until

STUDY = """\
study: shared
lab:
  lab: shared
  nodes: {one: {}, other: {}}
  links: [{between: [one, other], name: line, delay: 1ms}]
factors:
  size: {small: {probe.size: 64}, large: {probe.size: 1000}}
probe: {from: one, to: other, count: 20, interval: 5ms, at_rest: 10}
scales: {quick: {repeat: REPEATS}}
"""


class Cluster:
    """A scheduler on this machine, and the workers that tests start; all end with the test."""

    def __init__(
        self,
        folder: Path,
        environment: Mapping[str, str],
        options: Sequence[str],
        host: str,
        prefix: Sequence[str],
    ) -> None:
        self.prefix = prefix
        self.folder, self.environment = folder, {**os.environ, "TMPDIR": str(folder), **environment}
        self.workers: dict[str, subprocess.Popen[str]] = {}
        told = folder / "scheduler.json"
        self.scheduler = subprocess.Popen(
            [
                *prefix,
                sys.executable,
                *("-m", "distributed.cli.dask_scheduler"),
                *("--host", host, "--port", "0", "--no-dashboard"),
                *("--scheduler-file", str(told)),
                *options,
            ],
            env=self.environment,
            stdout=subprocess.DEVNULL,
            stderr=(folder / "scheduler.log").open("w"),
            text=True,
        )
        wait_until(lambda: told.exists() and told.stat().st_size > 0)
        self.address = str(json.loads(told.read_text())["address"])

    def worker(
        self, name: str, *options: str, prefix: Sequence[str] | None = None
    ) -> subprocess.Popen[str]:
        """Start a worker, and wait until the scheduler has it."""
        prefix = self.prefix if prefix is None else prefix
        log = self.folder / f"{name}.log"
        started = subprocess.Popen(
            [*prefix, DELAYLAB, "worker", self.address, "--name", name, *options],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=log.open("w"),
            text=True,
        )
        self.workers[name] = started
        wait_until(lambda: "offered to" in log.read_text() or started.poll() is not None)
        assert started.poll() is None, log.read_text()
        return started

    def kill(self, name: str) -> None:
        """Kill a worker as power would: it can say nothing to anybody."""
        worker = self.workers.pop(name)
        worker.kill()
        worker.wait()

    def close(self) -> None:
        """End all processes."""
        for process in [*self.workers.values(), self.scheduler]:
            process.send_signal(signal.SIGTERM)
        for process in [*self.workers.values(), self.scheduler]:
            process.wait(60)


@contextmanager
def cluster(
    folder: Path,
    environment: Mapping[str, str] | None = None,
    options: Sequence[str] = (),
    host: str = "127.0.0.1",
    prefix: Sequence[str] = (),
) -> Iterator[Cluster]:
    """Have a scheduler for a block; `prefix` is that of the commands of all processes."""
    made = Cluster(folder, environment or {}, options, host, prefix)
    try:
        yield made
    finally:
        made.close()


def study(folder: Path, repeats: int, text: str = STUDY) -> Path:
    """Write a study of two trials a repeat, which take about a second each."""
    file = folder / "study.yaml"
    file.write_text(text.replace("REPEATS", str(repeats)))
    return file
