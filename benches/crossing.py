"""Benchmark of what a link and the router behind it add to a delay."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from statistics import median

import delaylab
from benches.section import Section
from delaylab.api.labs import RunningLab
from delaylab.lab.links import link_engines
from delaylab.lab.running import LiveLab
from delaylab.lab.start import temporary

ROUTERS = 30
CROSSED = 2 * (ROUTERS - 1)
"""Links that a packet crosses from the first router to the last and back."""
DELAY_US = 200
ROUNDS = 20
PINGS = 60


def run() -> Section:
    """Ping over a chain of routers, with delays and with plain cables, in turn."""
    section = Section(
        "crossing",
        "What a link adds to its delay",
        f"A chain of {ROUTERS} routers, pinged from end to end: {PINGS} packets, one each 5 ms, by "
        f"the kernel's stamps, in {ROUNDS} rounds in turn with the same chain of plain cables. "
        f"What is beyond the links' delays of {DELAY_US} µs, for each of the {CROSSED} links that "
        "are crossed. *Least*: of the fastest packet of a round; the median of all rounds and the "
        "best round. *Median*: of all packets. A link with a delay has a cable on each side of the "
        "engine, a plain one is a single cable. The CPU's caches decide: a router whose tables are "
        "in none of them takes three times as long.",
        ("what", "least, µs", "best round", "median"),
    )
    with ExitStack() as labs:
        delayed, plain = (
            labs.enter_context(temporary(_chain(delay), accounting=False))
            for delay in (f"{DELAY_US}us", None)
        )
        for lab in (delayed, plain):
            _added_us(lab, DELAY_US)
        link_engines.reports(delayed, reset=True)
        rounds = [(_added_us(delayed, DELAY_US), _added_us(plain, 0)) for _ in range(ROUNDS)]
        (report,) = link_engines.reports(delayed)
    late_us = (report.late.p50_ns or 0) / 1e3 if report.late is not None else 0.0
    whole, cable = (_row(each) for each in zip(*rounds, strict=True))
    section.rows += [
        ("a link and the router behind it", *_cells(whole)),
        ("a plain cable and the router behind it", *_cells(cable)),
        ("the engine, by its own `late`", "–", "–", f"{late_us:.2f}"),
    ]
    return section


def _chain(delay: str | None) -> delaylab.Lab:
    return delaylab.generate("line", {"nodes": ROUTERS}, delay=delay).lab


def _added_us(lab: LiveLab, delay_us: int) -> list[float]:
    """Return what each link adds to its delay, by each packet of a round that came back."""
    running = RunningLab(lab)
    first, last = running.node("r1"), running.node(f"r{ROUTERS}")
    packets = first.ping(last, count=PINGS, interval="5ms").packets
    trips_ns = [each.rtt_kernel_ns for each in packets if each.rtt_kernel_ns is not None]
    return [trip_ns / 1e3 / CROSSED - delay_us for trip_ns in trips_ns]


def _row(rounds: Iterable[list[float]]) -> tuple[float, float, float]:
    """Return the least of a round, as the median of all and of the best, and the median."""
    rounds = list(rounds)
    least = [min(each) for each in rounds]
    return median(least), min(least), median(each for some in rounds for each in some)


def _cells(row: Iterable[float]) -> tuple[str, ...]:
    return tuple(f"{each:.2f}" for each in row)
