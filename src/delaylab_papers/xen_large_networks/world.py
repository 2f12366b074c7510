"""Trials of the study as the paper would have them, or another truth."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from delaylab_study.papers.toolkit import (
    Design,
    DomainTime,
    Floats,
    Group,
    Random,
    WorkDone,
    imagined,
    imagined_trial,
)

from . import mpi_world
from .measures import CPU, DRIVER, LINUX, NETWORK, SCP, XEN
from .mpi_world import MpiTruth
from .published import COPIES, NETPERF_5, NETPERF_5_PROCESSES, POVRAY_10

SECOND_NS = 10**9
UNITS_PER_S = 6000.0
WIRE_BPS = 100e6
TEN = 10
DRIVER_NOISE = 0.005
"""Difference of the driver domain's share between two runs; the paper gives one run."""


@dataclass(frozen=True)
class Truth:
    """The truth of an imagined world: by how much the shares that the paper found are spread.

    1 leaves them as they are in the paper, 0 makes all equal. `rate_spread` is the spread of what
    machines that compute get done in a second. `more_time` is the CPU time of machines in network
    work over that of processes, `copies` how many of ten copies finish on machines. `driver` is the
    driver domain's share of the CPU time, which is over 0.9 in the paper. `noise` is the relative
    difference between two runs: the paper gives one.

    Of scp the paper's shares are legible for processes only, which are equal. Those of machines are
    invented: spread like the paper's shares in netperf, times `scp_spread`.
    """

    cpu_spread: float = 1.0
    network_spread: float = 1.0
    scp_spread: float = 1.0
    scp_spread_of_processes: float = 0.0
    rate_spread: float = 0.0
    more_time: float = 1.5
    copies: int = COPIES
    driver: float = 0.95
    noise: float = 0.005
    mpi: MpiTruth = field(default_factory=MpiTruth)


def drawn(truth: Truth, design: Design, random: Random) -> Group:
    """Return trials of a design, with shares that follow from a truth."""
    trials = [
        imagined_trial(
            design,
            repeat=block,
            work=_work(truth, design, random),
            domains=_domains(truth, design, random),
        )
        for block in range(design.first_repeat, design.first_repeat + design.trials)
    ]
    return imagined(design, {}, trials=trials)


def as_published(design: Design, random: Random) -> Group:
    """Return trials of a design, drawn from the paper's own numbers."""
    return drawn(Truth(mpi=MpiTruth(order=design.equations or 0)), design, random)


def _work(truth: Truth, design: Design, random: Random) -> list[WorkDone]:
    levels = design.levels
    n = int(levels["n"])
    plain = levels["kind"] == LINUX
    if levels["work"] in mpi_world.WORKS:
        return mpi_world.work(truth.mpi, levels, random)
    if levels["work"] == "cpu":
        spread = truth.cpu_spread
        times = _shares(POVRAY_10, n, spread, truth.noise, random)
        rates = _shares(POVRAY_10, n, truth.rate_spread, truth.noise, random)
        return _done(CPU, "units/s", times, [UNITS_PER_S * each for each in rates])
    if levels["work"] == "scp":
        spread = truth.scp_spread_of_processes if plain else truth.scp_spread
        times = _shares(NETPERF_5, n, spread, truth.noise, random)
        starved = n - truth.copies if n == TEN and not plain else 0
        return _done(SCP, "B/s", times, [WIRE_BPS / 8 / n] * n, starved)
    found = NETPERF_5_PROCESSES if plain else NETPERF_5
    spread = 1.0 if plain else truth.network_spread
    times = _shares(found, n, spread, truth.noise, random)
    rates = _shares(found, n, spread, truth.noise, random)
    longer = 1.0 if plain else truth.more_time
    return _done(
        NETWORK, "bit/s", [longer * each for each in times], [WIRE_BPS * each for each in rates]
    )


def _domains(truth: Truth, design: Design, random: Random) -> list[DomainTime]:
    if design.levels["kind"] != XEN:
        return []
    n = int(design.levels["n"])
    driver = truth.driver + DRIVER_NOISE * random.standard_normal()
    shares = {DRIVER: driver} | {f"guest-{at + 1}": (1 - driver) / n for at in range(n)}
    return [
        DomainTime(host="sut", domain=name, cpu_ns=round(share * SECOND_NS))
        for name, share in shares.items()
    ]


def _shares(values: Floats, n: int, spread: float, noise: float, random: Random) -> list[float]:
    """Return n shares like those found, spread by a factor: their relative deviation is theirs."""
    if n == 1:
        return [1.0]
    wanted = np.quantile(values, np.linspace(0, 1, n))
    wanted = (wanted - wanted.mean()) / wanted.std() * values.std() / values.mean()
    shares = np.maximum(1 + spread * wanted, 0.01) * (1 + noise * random.standard_normal(n))
    return [float(share) for share in shares / shares.sum()]


def _done(
    name: str, unit: str, times: list[float], rates: list[float], starved: int = 0
) -> list[WorkDone]:
    """Return the nodes' work: CPU and wall times in the ratio of `times`; the last ones starved."""
    last = len(times) - starved
    return [
        WorkDone(
            work=name,
            node=f"guest-{at + 1}",
            unit=unit,
            rate=rate if at < last else None,
            wall_ns=round(time * SECOND_NS),
            user_ns=round(time * SECOND_NS),
            system_ns=0,
            failed=None if at < last else "its connection was dropped",
        )
        for at, (time, rate) in enumerate(zip(times, rates, strict=True))
    ]
