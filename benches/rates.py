"""Benchmark of echo round trips per second on one core, beside `ping -f`."""

from __future__ import annotations

import re
import statistics
from typing import Any

import numpy as np

from benches.pair import NEAR, need, pair, probe, run_in
from benches.section import Section
from delaylab.lab.running import LiveLab
from delaylab_study.trial.frames import frame

CORE = 1
COUNT = 100_000
ROUNDS = 9
STAMPS = ["app", "stack"]
SENDERS: dict[str, dict[str, Any]] = {
    "by sockets, app and stack stamps": {"mode": "socket", "stamps": STAMPS},
    "packet mode, app and stack stamps": {"mode": "packet", "stamps": STAMPS},
    "by sockets, no programs": {"mode": "socket", "stamps": STAMPS, "tcx": False},
    "packet mode, no programs": {"mode": "packet", "stamps": STAMPS, "tcx": False},
}


def run() -> Section:
    """Measure ping and the probe's two modes in turn, on the same cable and core."""
    need("ping", "taskset")
    measured: dict[str, list[float]] = {"ping -f": [], **{name: [] for name in SENDERS}}
    lost = dict.fromkeys(measured, 0)
    with pair([CORE]) as (lab, far):
        for _ in range(ROUNDS):
            measured["ping -f"].append(_ping(lab, far))
            for name, fields in SENDERS.items():
                rate, missing = _probe(lab, far, fields)
                measured[name].append(rate)
                lost[name] += missing
    section = Section(
        "rates",
        "Echo round trips per second, one core for sender and responder",
        f"{COUNT} round trips of 56 bytes, {ROUNDS} rounds in turn; goal: at least 1.3 × ping "
        "with app and socket stamps, 1.7 × in packet mode. Without programs at the interface, "
        "sockets stamp by SO_TIMESTAMPING, and packet mode by a packet ring.",
        ("sender", "round trips/s, median", "min … max", "× ping -f", "lost"),
    )
    for name, rates in measured.items():
        ratios = [rate / ping for rate, ping in zip(rates, measured["ping -f"], strict=True)]
        section.rows.append(
            (
                name,
                f"{statistics.median(rates):,.0f}",
                f"{min(rates):,.0f} … {max(rates):,.0f}",
                f"{statistics.median(ratios):.2f}",
                str(lost[name]),
            )
        )
    section.notes.append(
        "× ping -f is the median of the rounds' ratios: each to the ping of its own round."
    )
    return section


def _ping(lab: LiveLab, far: str) -> float:
    done = run_in(lab, NEAR, "taskset", "-c", str(CORE), "ping", "-f", "-q", "-c", str(COUNT), far)
    match = re.search(r"time (\d+)ms", done.stdout)
    assert match, done
    return COUNT / (int(match[1]) / 1e3)


def _probe(lab: LiveLab, far: str, fields: dict[str, Any]) -> tuple[float, int]:
    result = probe(lab, far, count=COUNT, interval_ns=0, batch=64, realtime=False, **fields)
    packets = frame(result, "packets")
    sent = packets["sent_ns"].drop_nulls().to_numpy()
    span = float(np.ptp(sent)) / 1e9
    return len(packets) / span, int((packets["outcome"] != "replied").sum())
