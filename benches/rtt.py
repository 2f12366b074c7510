"""Benchmark of RTT at 100 packets per second, beside everyday tools, in turn on one cable."""

from __future__ import annotations

import json
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np

from benches.pair import NEAR, irtt_server, need, pair, probe, run_in
from benches.section import Section
from delaylab.lab.running import LiveLab
from delaylab_study.charts.words import MINUS
from delaylab_study.trial.frames import frame

COUNT = 500
ROUNDS = 9
INTERVAL_NS = 10_000_000
PEER = "fping"
ALL_STAMPS = ["app", "qdisc", "stack"]
_TIME = re.compile(r"time=([\d.]+) ms")
_FPING = re.compile(r", ([\d.]+) ms \(")


def run() -> Section:
    """Measure each tool's own user-space RTT: median and p99, the median over the rounds."""
    need("ping", "fping", "irtt", "cc")
    tools: dict[str, Callable[[LiveLab, str], list[float]]] = {
        "`delaylab ping`": _verb,
        "delaylab's probe": _ours,
        "delaylab's probe, to the kernel's receive stamp": _to_kernel,
        "delaylab's probe, stamps of the program alone": _bare,
        "ping": _ping,
        "ping -U": lambda lab, far: _ping(lab, far, "-U"),
        PEER: _fping,
        "irtt": _irtt,
    }
    with _compiled() as program:
        tools["a minimal program in C"] = partial(_least, program)
        return _section(*_measured(tools))


def _measured(
    tools: dict[str, Callable[[LiveLab, str], list[float]]],
) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Return the medians and the 99th percentiles of each tool's rounds, in µs."""
    medians: dict[str, list[float]] = {name: [] for name in tools}
    tails: dict[str, list[float]] = {name: [] for name in tools}
    with pair() as (lab, far), irtt_server(lab, far):
        for _ in range(ROUNDS):
            for name, tool in tools.items():
                values = tool(lab, far)
                medians[name].append(float(np.median(values)))
                tails[name].append(float(np.quantile(values, 0.99)))
    return medians, tails


def _section(medians: dict[str, list[float]], tails: dict[str, list[float]]) -> Section:
    section = Section(
        "rtt",
        "RTT at 100 packets per second",
        f"{COUNT} packets of 56 bytes, {ROUNDS} rounds in turn, idle machine; goal: the lowest.",
        ("tool", "RTT median, µs", "of the rounds", "above fping in the same round", "RTT p99, µs"),
    )
    section.notes.append(
        "`ping` and `fping` end a round trip at the kernel's receive stamp, so they leave out the "
        "way from there to the program; `ping -U`, `irtt`, `delaylab` and the minimal program "
        "include it. The minimal program (`benches/least_rtt.c`) only reads the clock, sends, "
        "receives and reads the clock again. It has no stamps of the kernel and no real time."
    )
    for name, found in medians.items():
        median, tail = statistics.median(found), statistics.median(tails[name])
        span = f"{min(found):.1f} … {max(found):.1f}"
        beside = "–" if name == PEER else _above(found, medians[PEER])
        section.rows.append((name, f"{median:.1f}", span, beside, f"{tail:.1f}"))
    return section


def _above(ours: list[float], peer: list[float]) -> str:
    """Write the median difference of the same rounds, and the lowest and highest."""
    found = [a - b for a, b in zip(ours, peer, strict=True)]
    text = f"{statistics.median(found):+.1f} ({min(found):+.1f} … {max(found):+.1f})"
    return text.replace("-", MINUS)


def _verb(lab: LiveLab, far: str) -> list[float]:
    """Run the verb as a user does, so that its printing counts."""
    script = "from delaylab.cli import main; main()"
    argv = ["ping", "--json", "-i", "10ms", "-c", str(COUNT), far]
    done = run_in(lab, NEAR, sys.executable, "-c", script, *argv)
    return [packet["rtt_app_ns"] / 1e3 for packet in json.loads(done.stdout)["packets"]]


def _ours(lab: LiveLab, far: str) -> list[float]:
    return _probe(lab, far, "app", ALL_STAMPS)


def _to_kernel(lab: LiveLab, far: str) -> list[float]:
    return _probe(lab, far, "stack", ALL_STAMPS)


def _bare(lab: LiveLab, far: str) -> list[float]:
    return _probe(lab, far, "app", ["app"])


def _probe(lab: LiveLab, far: str, end: str, stamps: list[str]) -> list[float]:
    import polars as pl  # noqa: PLC0415

    result = probe(lab, far, count=COUNT, interval_ns=INTERVAL_NS, stamps=stamps)
    table = frame(result, "stamps").with_columns(pl.col("point").cast(pl.String))
    sent, came = table.filter(leg=0, point="app"), table.filter(leg=1, point=end)
    both = sent.join(came, on="seq", suffix="_reply")
    return ((both["time_ns_reply"] - both["time_ns"]) / 1e3).to_list()


@contextmanager
def _compiled() -> Iterator[Path]:
    """Compile the minimal program; it is there while the block runs."""
    source = Path(__file__).with_name("least_rtt.c")
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "least_rtt"
        subprocess.run(["cc", "-O2", "-o", program, source], check=True)
        yield program


def _least(program: Path, lab: LiveLab, far: str) -> list[float]:
    done = run_in(lab, NEAR, str(program), far, str(COUNT), str(INTERVAL_NS))
    return [float(value) / 1e3 for value in done.stdout.split()]


def _ping(lab: LiveLab, far: str, *options: str) -> list[float]:
    done = run_in(lab, NEAR, "ping", "-n", *options, "-i", "0.01", "-c", str(COUNT), far)
    return [float(value) * 1e3 for value in _TIME.findall(done.stdout)]


def _fping(lab: LiveLab, far: str) -> list[float]:
    done = run_in(lab, NEAR, "fping", "-p", "10", "-c", str(COUNT), far)
    return [float(value) * 1e3 for value in _FPING.findall(done.stdout)]


def _irtt(lab: LiveLab, far: str) -> list[float]:
    span = f"{COUNT * INTERVAL_NS // 10**6}ms"
    argv = ["irtt", "client", "-i", "10ms", "-d", span, "-Q", "-o", "-", far]
    done = run_in(lab, NEAR, *argv)
    trips = json.loads(done.stdout)["round_trips"]
    return [trip["delay"]["rtt"] / 1e3 for trip in trips if "rtt" in trip.get("delay", {})]
