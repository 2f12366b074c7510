"""Benchmark of labs over machines that are far away by ssh: how much longer `up` takes."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path

from tests.doing.machines.ssh_machines import Lan

from benches import cleanup
from benches.across import lan_of, reached
from benches.section import Section

MACHINES = 20
NAMES = tuple(f"m{number}" for number in range(1, MACHINES + 1))
RING = tuple((number, number % MACHINES + 1) for number in range(1, MACHINES + 1))
MESH = tuple(combinations(range(1, MACHINES + 1), 2))
LABS = {"ring of 20 links": RING, "mesh of 190 links": MESH}
ROUND_TRIPS_MS = (0, 50)
ROUNDS = 3


def run() -> Section:
    """Time `up` of a ring and of a mesh, with ssh at once and 50 ms away in turn."""
    section = Section(
        "far_machines",
        f"{MACHINES} machines that are far away by ssh",
        f"`delaylab up LAB` of one node on each of {MACHINES} machines; medians of {ROUNDS} "
        "rounds, in turn. The machines are namespaces with an sshd each, on this computer, which "
        "share its CPUs. ssh goes through a program that delivers each piece half of the round "
        "trip later, and with 0 ms at once. *More*: the median of the rounds' differences. Goal: "
        "at most 2 s more at 50 ms.",
        ("lab", "round trip of ssh", "seconds", "min … max", "more, s"),
    )
    with lan_of(NAMES) as machines:
        for words, links in LABS.items():
            taken: dict[int, list[float]] = {each: [] for each in ROUND_TRIPS_MS}
            for _ in range(ROUNDS):
                for round_trip_ms, times in taken.items():
                    with _far(machines, round_trip_ms):
                        times.append(_up(machines, _lab(links)))
            least = taken[ROUND_TRIPS_MS[0]]
            for round_trip_ms, times in taken.items():
                more = statistics.median(b - a for a, b in zip(least, times, strict=True))
                section.rows.append(
                    (
                        words,
                        f"{round_trip_ms} ms",
                        f"{statistics.median(times):.2f}",
                        f"{min(times):.2f} … {max(times):.2f}",
                        f"{more:.2f}" if round_trip_ms else "–",
                    )
                )
    return section


def _lab(links: tuple[tuple[int, int], ...]) -> str:
    hosts = ", ".join(f"h{name}: {{machine: {name}}}" for name in NAMES)
    nodes = ", ".join(f"n{name}: {{host: h{name}}}" for name in NAMES)
    cables = "".join(f"  - {{between: [nm{a}, nm{b}], delay: 200ms}}\n" for a, b in links)
    return f"lab: far\n{reached(NAMES)}hosts: {{{hosts}}}\nnodes: {{{nodes}}}\nlinks:\n{cables}"


@contextmanager
def _far(machines: Lan, round_trip_ms: float) -> Iterator[None]:
    """Have ssh take a round trip longer, for the length of a block."""
    config = machines.folder / "ssh_config"
    before = config.read_text()
    proxy = f"{sys.executable} -S {Path(__file__).with_name('late_ssh.py')}"
    late = f"  ProxyCommand {proxy} %h %p {round_trip_ms / 2000}\n"
    config.write_text(before.replace("Host *\n", f"Host *\n{late}", 1))
    try:
        yield
    finally:
        config.write_text(before)


def _up(machines: Lan, text: str) -> float:
    cleanup.wait()
    began = time.monotonic()
    machines.up(text)
    took = time.monotonic() - began
    machines.delaylab("down", "--all")
    return took
