"""Benchmark of a worker's cost to what its machine measures: a probe's p99 with and without it."""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path

import numpy as np
from tests.doing.campaigns.cluster import STUDY, Cluster, cluster, study

from benches.command import DELAYLAB, run_to_end
from benches.section import Section
from delaylab_study.analysis.analyse import groups
from delaylab_study.analysis.statistics.student import half_width
from delaylab_study.dataset.store import read_study

ROUNDS = 12
PROBE = STUDY.replace("count: 20, interval: 5ms", "count: 10000, interval: 1ms")
"""A probe of 10 s at 1 kHz."""
Quantiles = tuple[float, float]
"""Median and p99 of the user RTT, in µs."""


def run() -> Section:
    """Measure the same trial here and on a worker of this machine, in turn."""
    section = Section(
        "campaign_worker",
        "What a worker costs a measurement",
        "User RTT of a probe of 10 s at 1 kHz over a link of 1 ms, by `delaylab run` without any "
        f"worker and by a worker on this machine; medians of {ROUNDS} rounds, each in the other "
        "order than the one before. The scheduler and the command run on this machine, too, since "
        "there is no other. *More*: the mean of the rounds' differences, with its 95 % interval. "
        "Goal: the interval of the p99 contains 0.",
        ("statistic", "without, µs", "with a worker, µs", "more, µs"),
    )
    without: list[Quantiles] = []
    beside: list[Quantiles] = []
    for number in range(ROUNDS):
        for worker in (False, True) if number % 2 == 0 else (True, False):
            (beside if worker else without).append(_measured(worker=worker))
    for place, name in enumerate(("median", "p99")):
        ours, theirs = ([each[place] for each in run] for run in (without, beside))
        more = np.subtract(theirs, ours)
        mean, half = float(more.mean()), half_width(more)
        section.rows.append(
            (
                name,
                f"{statistics.median(ours):.1f}",
                f"{statistics.median(theirs):.1f}",
                f"{mean:+.1f} [{mean - half:+.1f}, {mean + half:+.1f}]",
            )
        )
    return section


def _measured(*, worker: bool) -> Quantiles:
    with tempfile.TemporaryDirectory(prefix="dlb-") as name:
        folder = Path(name)
        file = study(folder, 1, PROBE)
        if not worker:
            return _quantiles(folder, file, None)
        with cluster(folder) as made:
            made.worker("lab1")
            return _quantiles(folder, file, made)


def _quantiles(folder: Path, file: Path, on: Cluster | None) -> Quantiles:
    """Run the study's first trial, and return what it measured."""
    out = folder / "data"
    where = ["--on", on.address] if on is not None else []
    command = ["run", str(file), "--only", "size=small", "--out", str(out), *where]
    run_to_end([str(DELAYLAB), *command], {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})
    (group,) = groups(read_study(out))
    assert group.packets is not None, "the trial has a probe"
    (packets,) = group.packets.of_trials("app").values()
    median, p99 = np.quantile(packets["app"].to_numpy(), (0.5, 0.99))
    return float(median), float(p99)
