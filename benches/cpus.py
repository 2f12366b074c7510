"""Benchmark of the recorder of CPUs: what it costs a switch, and a probe beside it."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from benches.pair import pair, probe
from benches.section import Section
from delaylab.agent.recording import CpuRecording
from delaylab.lab.running import LiveLab
from delaylab.machines import LOCAL
from delaylab_study.analysis.statistics.student import half_width
from delaylab_study.trial.frames import frame

ROUNDS = 20
COUNT, INTERVAL_NS = 3000, 1_000_000
TURNS, BATCHES = 5_000, 20
CORE = 1


def run() -> Section:
    """Measure switches and a probe of 1 kHz with and without a recorder, in turn."""
    section = Section(
        "cpus",
        "What recording CPUs costs",
        f"Medians of {ROUNDS} rounds, with and without the recorder of `ping --why`, in turn. A "
        f"switch: two processes on one CPU that wake each other {BATCHES} times {TURNS} times "
        "through pipes; the 10th percentile of the batches, for each of the two switches. The "
        f"probe: {COUNT} echoes at 1 kHz over a cable. *More*: the mean of the rounds' "
        "differences, with its 95 % interval. Goals: 120 ns a switch, a median within 2 µs, and a "
        "p99 not more than 6 % worse.",
        ("figure", "without", "with", "more"),
    )
    switches: dict[bool, list[float]] = {False: [], True: []}
    medians: dict[bool, list[float]] = {False: [], True: []}
    tails: dict[bool, list[float]] = {False: [], True: []}
    with pair() as (lab, far):
        for number in range(ROUNDS):
            for recorded in (False, True) if number % 2 == 0 else (True, False):
                with _recorder() if recorded else _nothing():
                    switches[recorded].append(_switch_ns())
                    median, p99 = _probe_us(lab, far)
                medians[recorded].append(median)
                tails[recorded].append(p99)
    section.rows.append(_row("a switch, ns", switches, 0))
    section.rows.append(_row("user RTT, median, µs", medians, 2))
    section.rows.append(_row("user RTT, p99, µs", tails, 1))
    return section


def _row(name: str, found: dict[bool, list[float]], digits: int) -> tuple[str, ...]:
    more = np.subtract(found[True], found[False])
    mean, half = float(more.mean()), half_width(more)
    without, beside = (statistics.median(found[each]) for each in (False, True))
    return (
        name,
        f"{without:.{digits}f}",
        f"{beside:.{digits}f}",
        f"{mean:+.{digits}f} [{mean - half:+.{digits}f}, {mean + half:+.{digits}f}]",
    )


@contextmanager
def _recorder() -> Iterator[None]:
    session = LOCAL.session()
    try:
        recording = CpuRecording(session)
        recording.await_ready()
        if recording.failed is not None:
            raise recording.failed
        yield
        recording.end()
    finally:
        session.close()


@contextmanager
def _nothing() -> Iterator[None]:
    yield


def _probe_us(lab: LiveLab, far: str) -> Sequence[float]:
    """Return the median and the 99th percentile of round trips between programs, in µs."""
    result = probe(lab, far, count=COUNT, interval_ns=INTERVAL_NS, stamps=["app"])
    stamps = frame(result, "stamps").pivot("leg", index="seq", values="time_ns")
    trips = (stamps["1"] - stamps["0"]).drop_nulls().to_numpy() / 1e3
    return [float(each) for each in np.quantile(trips, (0.5, 0.99))]


def _switch_ns() -> float:
    """Return the time in ns of one switch between two processes on one CPU, with its pipe."""
    (there, to_child), (from_child, back) = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        os.sched_setaffinity(0, {CORE})
        while os.read(there, 1) == b"x":
            os.write(back, b"x")
        os._exit(0)
    usual = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {CORE})
    try:
        batches = [_batch_ns(to_child, from_child) for _ in range(BATCHES)]
    finally:
        os.sched_setaffinity(0, usual)
        os.write(to_child, b"-")
        os.waitpid(child, 0)
        for each in (there, to_child, from_child, back):
            os.close(each)
    return float(np.quantile(batches, 0.1))


def _batch_ns(to_child: int, from_child: int) -> float:
    began = time.perf_counter_ns()
    for _ in range(TURNS):
        os.write(to_child, b"x")
        os.read(from_child, 1)
    return (time.perf_counter_ns() - began) / TURNS / 2
