"""Benchmark of growth: the command line on labs whose size doubles four times."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benches import cleanup, ip_batch
from benches.command import CommandLine, Pairs, Times, command_line, ring_with_chords
from benches.section import Section
from delaylab.kinds import KINDS
from delaylab.machines import LOCAL
from delaylab.plan.build import build
from delaylab.resolve.load import load_lab

DOUBLINGS = 4
ROUNDS = 3
MOSTLY_START = 1.2
"""A lab that takes less, in multiples of the time of two nodes, tells nothing about growth."""

WITNESS = "ip -batch"
"""Builds the labs of series `up`, too: how much of the growth is the kernel's."""


@dataclass(frozen=True)
class Series:
    """A command on labs that grow; `links` is the smallest lab's number of links."""

    what: str
    command: str
    links: int
    links_per_node: float
    forwards: bool = False


ALL = (
    Series("check and plan", "plan", 625, 3),
    Series("check and plan, routes", "plan", 50, 2, forwards=True),
    Series("up", "up", 250, 2),
    Series(WITNESS, WITNESS, 250, 2),
    Series("up, routes", "up", 25, 2, forwards=True),
)


def run() -> Section:
    """Time each series, each size three times; the fastest counts."""
    section = Section(
        "scale",
        "Growth of the time with the size of a lab",
        "`delaylab plan LAB` and `delaylab up LAB` as a user types them, from the start of the "
        f"program to its end; the fastest of {ROUNDS}. Each begins once the kernel has torn down "
        "the previous lab. The exponent e is that of the time, less the time of a lab of two "
        "nodes, as a power of the plan's operations: 1 is linear. CPU is the time of the "
        "command's own process, which a busy machine disturbs less. `ip -batch` builds the labs "
        "of `up`, too: its exponent is the kernel's. Among routers the operations themselves grow "
        "with the square of the routers, since each has a route to each link. Goal: e at most "
        "1.15; 10,000 links checked and planned in 10 s, 200 routers with routes in 3 s; 500 "
        "nodes and 1000 links up in 1.5 s.",
        ("command", "nodes / links", "operations", "time, s", "× the one before", "CPU, s"),
    )
    with command_line() as line:
        for series in ALL:
            _measure(line, series, section)
    return section


def _measure(line: CommandLine, series: Series, section: Section) -> None:
    pairs = [(0, 1)]
    smallest = line.lab("two", 2, pairs, forwards=series.forwards)
    start = _fastest(line, series, smallest, 2, pairs)
    sizes, times, before = list[int](), list[Times](), math.nan
    for doubling in range(DOUBLINGS + 1):
        links = series.links << doubling
        nodes = round(links / series.links_per_node)
        pairs = ring_with_chords(nodes, links)
        lab = line.lab(f"l{links}", nodes, pairs, forwards=series.forwards)
        sizes.append(len(build(load_lab(lab), KINDS, LOCAL.rights()).operations))
        took = _fastest(line, series, lab, nodes, pairs)
        times.append(took)
        growth = "–" if math.isnan(before) else f"{took.seconds / before:.2f}"
        before = took.seconds
        cells = (f"{nodes:,} / {links:,}", f"{sizes[-1]:,}", f"{took.seconds:.2f}")
        spent = "–" if math.isnan(took.cpu) else f"{took.cpu:.2f}"
        section.rows.append((series.what, *cells, growth, spent))
    seconds = _exponent(sizes, [each.seconds for each in times], start.seconds)
    cpu = _exponent(sizes, [each.cpu for each in times], start.cpu)
    if series.command == WITNESS:
        section.notes.append(f"{series.what}: of the time, {seconds}.")
        return
    section.notes.append(f"{series.what}: of the time, {seconds}; of the CPU time, {cpu}.")


def _exponent(sizes: list[int], times: list[float], start: float) -> str:
    """Return the exponent of growth; sizes that hardly take longer than the start do not count."""
    grown = [(n, t - start) for n, t in zip(sizes, times, strict=True) if t > MOSTLY_START * start]
    if len(grown) < 2:
        return f"no size takes much longer than two nodes, {start:.2f} s"
    operations, seconds = np.log(np.array(grown)).T
    exponent = np.polyfit(operations, seconds, 1)[0]
    return f"e = {exponent:.2f}, of {len(grown)} sizes; two nodes take {start:.2f} s"


def _fastest(line: CommandLine, series: Series, lab: Path, nodes: int, pairs: Pairs) -> Times:
    """Return the shortest time and the least CPU time of several runs: disturbances only add."""
    found = []
    for _ in range(ROUNDS):
        cleanup.wait()
        if series.command == WITNESS:
            found.append(Times(ip_batch.up_and_down(nodes, pairs)[0], math.nan))
            continue
        found.append(line.times(series.command, str(lab)))
        if series.command == "up":
            line.seconds("down", "--all")
    return Times(min(each.seconds for each in found), min(each.cpu for each in found))
