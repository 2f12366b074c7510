"""Truth of `ping --clean`: is the clean median that of a machine at rest, while a program disturbs?

Usage: python -m tests.truth.clean [--runs N] [--packets N] [--write]

An undisturbed ping is the witness. Right after it the same ping is sent while a real-time program
has the responder's CPU for 60 % of the time. The median of all packets is then off by a millisecond
or more.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from pydantic import BaseModel, Field

from delaylab.machines.description import cpu_name
from tests.truth.alone import alone
from tests.truth.page import write_part
from tests.truth.scene import RESPONDER_CPU, SENDER_CPU, Pairs, injector

DELAYLAB = Path(sys.executable).with_name("delaylab")
ECHO = """
import os, socket, sys
os.sched_setaffinity(0, {int(sys.argv[1])})
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
    server.bind(("127.0.0.1", 0))
    print(server.getsockname()[1], flush=True)
    while True:
        data, peer = server.recvfrom(2000)
        server.sendto(data, peer)
"""
"""Sends datagrams back, from a CPU."""
AWAKE = """
import os, sys
os.sched_setaffinity(0, {int(sys.argv[2])})
os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
print(flush=True)
while os.getppid() == int(sys.argv[1]):
    pass
"""
"""Keeps a CPU awake, by what no other program has to wait for."""
SHORTEST_NS, LONGEST_NS, SHARE = 8_000_000, 24_000_000, 0.6
"""The bursts for which a program has the responder's CPU, and their share of the time."""
LONG_NS = 120_000_000_000
"""The time for which bursts go on, which no ping reaches."""
AHEAD_NS = 300_000_000
INTERVAL = "10ms"
NEAR_NS = 20_000
"""The most error of the clean median beyond what chance allows."""


class Median(BaseModel):
    """A median with its interval in ns, as `ping --clean --json` has it."""

    n: int
    median: float
    low: float | None
    high: float | None

    @property
    def width_ns(self) -> float:
        """Return the width of its interval; 0 if there is none."""
        return 0.0 if self.low is None or self.high is None else self.high - self.low


class Medians(BaseModel):
    """The medians of a kind of round trip."""

    clean: Median | None
    raw: Median | None


class Clean(BaseModel):
    """The part `clean` of what `ping --clean --json` prints."""

    judged_by: str
    kept: int
    unknown: int
    asked: int
    biased_share: float | None
    refused_for: dict[str, int]
    taken_ns: dict[str, int]
    repeats: int
    ended_by: str
    user: Medians = Field(alias="median_rtt_user_ns")
    less_waits: Medians | None = Field(alias="median_rtt_user_less_waits_ns")
    sampling: dict[str, float | None]


@dataclass(frozen=True, slots=True)
class Found:
    """An undisturbed ping, and a disturbed one right after it."""

    witness: Clean
    disturbed: Clean

    @property
    def rest(self) -> Median:
        """Return the median of the undisturbed ping: of all its packets."""
        assert self.witness.user.raw is not None
        return self.witness.user.raw

    @property
    def raw_error_ns(self) -> float:
        """Return by how much the median of all packets is off."""
        assert self.disturbed.user.raw is not None
        return self.disturbed.user.raw.median - self.rest.median

    @property
    def clean_error_ns(self) -> float:
        """Return by how much the clean median is off."""
        assert self.disturbed.user.clean is not None
        return self.disturbed.user.clean.median - self.rest.median

    @property
    def less_waits_error_ns(self) -> float:
        """Return by how much the clean median without waits is off, against that of the witness."""
        found = self.disturbed.less_waits
        assert found is not None
        assert found.clean is not None
        return found.clean.median - self._undisturbed_less_waits

    @property
    def allowed_ns(self) -> float:
        """Return the most by which the clean median may be off: no median is known exactly."""
        assert self.disturbed.user.clean is not None
        return NEAR_NS + self.rest.width_ns + self.disturbed.user.clean.width_ns

    @property
    def _undisturbed_less_waits(self) -> float:
        witness = self.witness.less_waits
        assert witness is not None
        assert witness.raw is not None
        return witness.raw.median


def run(packets: int) -> Found:
    """Ping without and with a disturbance.

    CPUs are awake in both: how long an idle one takes differs from minute to minute by more than
    what is to be told, and one that a program has had is not idle.
    """
    with awake(SENDER_CPU), awake(RESPONDER_CPU), echoing() as port:
        witness = pinged(port, packets)
        with bursts():
            return Found(witness, pinged(port, packets))


@contextmanager
def awake(cpu: int) -> Iterator[None]:
    """Keep a CPU awake for the length of a block."""
    asked = [sys.executable, "-c", AWAKE, str(os.getpid()), str(cpu)]
    with subprocess.Popen(asked, stdout=subprocess.PIPE) as spinning:
        assert spinning.stdout is not None
        try:
            spinning.stdout.readline()
            yield
        finally:
            spinning.kill()


@contextmanager
def echoing() -> Iterator[int]:
    """Run a program that sends datagrams back; yield its port."""
    asked = [sys.executable, "-c", ECHO, str(RESPONDER_CPU)]
    with subprocess.Popen(asked, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        try:
            yield int(server.stdout.readline())
        finally:
            server.kill()


@contextmanager
def bursts() -> Iterator[None]:
    """Have a real-time program take the responder's CPU in bursts of drawn lengths."""
    with alone(), injector("fifo", str(RESPONDER_CPU)) as started:
        assert started.stdin is not None
        started.stdin.write(json.dumps(drawn(time.time_ns() + AHEAD_NS)) + "\n")
        started.stdin.flush()
        yield


def drawn(start_ns: int) -> Pairs:
    """Return bursts from a time on: each with its moment and its length."""
    found, at_ns = [], start_ns
    while at_ns < start_ns + LONG_NS:
        length_ns = random.randrange(SHORTEST_NS, LONGEST_NS)
        found.append((at_ns, length_ns))
        at_ns += round(length_ns / SHARE)
    return found


def pinged(port: int, packets: int) -> Clean:
    """Ping a responder from the sender's CPU, and repeat biased packets."""
    asked = ["taskset", "--cpu-list", str(SENDER_CPU), str(DELAYLAB), "ping", "--clean", "--json"]
    asked += ["-c", str(packets), "-i", INTERVAL, "--clean-budget", str(4 * packets)]
    asked += ["--udp", "hello", "-p", str(port), "127.0.0.1"]
    said = subprocess.run(asked, check=True, capture_output=True, text=True).stdout
    return Clean.model_validate(json.loads(said)["clean"])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--packets", type=int, default=200)
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    titles = (
        "undisturbed, µs",
        "raw",
        "clean",
        "off by",
        "less waits",
        "biased",
        "while undisturbed",
    )
    lines = [f"| {' | '.join(titles)} |", "|---" * len(titles) + "|"]
    print(*lines, sep="\n", flush=True)
    for _ in range(asked.runs):
        lines.append(row(run(asked.packets)))
        print(lines[-1], flush=True)
    if asked.write:
        lines += ["", f"*{date.today().isoformat()}, {cpu_name()}*"]
        write_part("clean", "\n".join(lines))


def row(found: Found) -> str:
    """Return a run as a row of a table."""
    medians = found.disturbed.user
    columns = [
        *(us(each) for each in (found.rest, medians.raw, medians.clean)),
        "–" if medians.clean is None else f"{found.clean_error_ns / 1e3:+.1f}",
        "–" if medians.clean is None else f"{found.less_waits_error_ns / 1e3:+.1f}",
        *(f"{each.biased_share or 0:.1%}" for each in (found.disturbed, found.witness)),
    ]
    return f"| {' | '.join(columns)} |"


def us(found: Median | None) -> str:
    """Return a median with its interval in µs."""
    if found is None:
        return "–"
    low, high = (0.0 if each is None else each / 1e3 for each in (found.low, found.high))
    return f"{found.median / 1e3:.1f} [{low:.1f}, {high:.1f}]"


if __name__ == "__main__":
    main()
