"""Truth of `ping --clean`: is the clean median that of a machine at rest, while a program disturbs?

Usage: python -m tests.truth.clean [--runs N] [--packets N]. An undisturbed ping is the witness.
Right after it the same ping is sent while another program has the responder's CPU for most of the
time. The median of all packets is then off by a millisecond or more.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, Field

from tests.truth.scene import RESPONDER_CPU, SENDER_CPU, Pairs, injector

DELAYLAB = Path(sys.executable).with_name("delaylab")
ECHO = """
import os, socket, sys
os.sched_setaffinity(0, {int(sys.argv[1])})
os.nice(int(sys.argv[2]))
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
    server.bind(("127.0.0.1", 0))
    print(server.getsockname()[1], flush=True)
    while True:
        data, peer = server.recvfrom(2000)
        server.sendto(data, peer)
"""
"""Sends datagrams back, from a CPU."""
SHORTEST_NS, LONGEST_NS = 8_000_000, 24_000_000
"""The bursts for which a program has a CPU."""
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
    """What `ping --clean --json` says of its packets."""

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
class Case:
    """A disturbance: a program that has the responder's CPU for a share of the time.

    `nice` is the responder's niceness.
    """

    name: str
    what: str
    share: float
    nice: int = 0


CASES = (
    Case("real-time program", "fifo", 0.6),
    # Beside an ordinary responder an ordinary program would wait for the responder.
    Case("ordinary program", "normal", 0.85, 19),
)


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
    def is_near(self) -> bool:
        """Return True if the clean median is near that of the undisturbed ping.

        It may lack the wake-ups of idle CPUs: a CPU that a program has had needs none. Without
        waits of any kind the two must be near each other, too.
        """
        clean = self.disturbed.user.clean
        assert clean is not None
        waits = self.rest.median - self._undisturbed_less_waits
        near = NEAR_NS + self.rest.width_ns + clean.width_ns
        in_all = -near - waits <= self.clean_error_ns <= near
        return in_all and abs(self.less_waits_error_ns) <= near

    @property
    def _undisturbed_less_waits(self) -> float:
        witness = self.witness.less_waits
        assert witness is not None
        assert witness.raw is not None
        return witness.raw.median


def run(case: Case, packets: int) -> Found:
    """Ping without and with a disturbance."""
    with echoing(case.nice) as port:
        witness = pinged(port, packets)
        with bursts(case.what, case.share):
            return Found(witness, pinged(port, packets))


@contextmanager
def echoing(nice: int) -> Iterator[int]:
    """Run a program that sends datagrams back; yield its port."""
    asked = [sys.executable, "-c", ECHO, str(RESPONDER_CPU), str(nice)]
    with subprocess.Popen(asked, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        try:
            yield int(server.stdout.readline())
        finally:
            server.kill()


@contextmanager
def bursts(what: str, share: float) -> Iterator[None]:
    """Have a program take the responder's CPU in bursts of drawn lengths during the block."""
    with injector(what, str(RESPONDER_CPU)) as started:
        assert started.stdin is not None
        started.stdin.write(json.dumps(drawn(time.time_ns() + AHEAD_NS, share)) + "\n")
        started.stdin.flush()
        yield


def drawn(start_ns: int, share: float) -> Pairs:
    """Return bursts that take a share of the time from a moment on: each with moment and length."""
    found, at_ns = [], start_ns
    while at_ns < start_ns + LONG_NS:
        length_ns = random.randrange(SHORTEST_NS, LONGEST_NS)
        found.append((at_ns, length_ns))
        at_ns += round(length_ns / share)
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
    print(f"| disturbed by | {' | '.join(titles)} |")
    print("|---" * (1 + len(titles)) + "|", flush=True)
    for _ in range(asked.runs):
        for case in CASES:
            print(row(case, run(case, asked.packets)), flush=True)


def row(case: Case, found: Found) -> str:
    """Return a run as a row of a table."""
    medians = found.disturbed.user
    columns = [
        case.name,
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
