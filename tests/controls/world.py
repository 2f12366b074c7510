"""Invented trials as analysed groups: delays that are given, and no packets behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np
import polars as pl

from delaylab.analysis.doubts.machine_state import MachineState
from delaylab.analysis.group import MEASURED, Group
from delaylab.analysis.links.fidelity import TrialLink
from delaylab.analysis.over_time.slowest import TRIAL
from delaylab.analysis.packets.accounting import Account, ByLeg, PhaseAccount
from delaylab.analysis.packets.instrument import AtRest
from delaylab.analysis.packets.rtt import DELTAS, ONE_WAY, VANTAGE
from delaylab.analysis.statistics.quantiles import Floats, summarise
from delaylab.dataset.records.links import EngineReport
from delaylab.dataset.records.rates import Search
from delaylab.dataset.records.trial import Endpoint, Load, PointPath, TrialRecord
from tests.synthetic import ACTED

CPUS = 8
Levels = Mapping[str, str]
Random = np.random.Generator


def lognormal(random: Random, n: int, median: float, p99: float | None = None) -> Floats:
    """Values with this median and 99th percentile; without one, it is 1.5 times the median."""
    sigma = np.log((p99 or 1.5 * median) / median) / 2.326348
    return np.asarray(median * np.exp(sigma * random.normal(size=n)))


def group(
    factors: Levels,
    *,
    kind: str = "netns",
    delays: Mapping[str, Floats] | None = None,
    loads: Sequence[Load] = (),
    links: Sequence[TrialLink] = (),
    reports: Sequence[EngineReport] = (),
    repeat: int = 1,
    cpus: int | None = CPUS,
    sent: int | None = None,
    trials: Sequence[TrialRecord] = (),
    summarised: bool = False,
    blocks: int = 1,
) -> Group:
    """A group of one trial, of one in each of several blocks, or of those given.

    Of the packets each block has equally many, in their order.
    `delays` are in µs, by the name of a vantage point or of a one-way delay. Summaries of the
    RTTs take long to make, and few need them: only with `summarised`.
    """
    made = [record(factors, kind, loads, reports, repeat + block) for block in range(blocks)]
    samples = table(delays or {}, blocks)
    return Group(
        trials=list(trials) or made,
        rtt={name: summarise([delays[name] * 1000]) for name in VANTAGE if name in delays}
        if summarised and delays
        else {},
        deltas={},
        one_way={},
        segments=[],
        account=cast(Account, None),
        phases=[_fates(len(samples), len(samples) if sent is None else sent)],
        outliers=0,
        doubts=[],
        samples=samples,
        machine=MachineState([], 0, 0, {}, cpus),
        at_rest=cast(AtRest, None),
        bounds={},
        clocks=[],
        links=list(links),
        sent=len(samples) if sent is None else sent,
    )


def _fates(answered: int, sent: int) -> PhaseAccount:
    """The account of the packets under load: those without an answer were lost."""
    none = ByLeg()
    lost = ByLeg(request=sent - answered)
    return PhaseAccount(MEASURED, sent, answered, 0, lost, 0, 0, none, none)


def record(
    factors: Levels,
    kind: str,
    loads: Sequence[Load] = (),
    reports: Sequence[EngineReport] = (),
    repeat: int = 1,
    search: Search | None = None,
) -> TrialRecord:
    """The record of a finished trial."""
    name = ",".join(f"{factor}={level}" for factor, level in factors.items())
    sender = Endpoint(node="probe", host="sut", kind=kind)
    return TrialRecord(
        id=f"{name or 'trial'},repeat={repeat}",
        index=0,
        factors=dict(factors),
        repeat=repeat,
        status="ok",
        sender=sender,
        responder=Endpoint(node="echo", host="target", kind="native"),
        path=PointPath(request=["sender.app"], reply=["sender.app"]),
        loads=list(loads),
        links=list(reports),
        rate_search=search,
    )


def acting(load: str, achieved: Mapping[str, float] | None = None) -> list[Load]:
    """A load that did what it stands for, none at rest; `achieved` tells otherwise."""
    if load in ("rest", "none"):
        return []
    done = dict(ACTED[load] if achieved is None else achieved)
    return [Load(load=load, on="noisy", achieved=done)]


def table(delays: Mapping[str, Floats], blocks: int = 1) -> pl.DataFrame:
    """The samples of a group in ns: the delays given, and the differences that follow from them."""
    n = max((len(values) for values in delays.values()), default=0)
    names = (*VANTAGE, *ONE_WAY)
    columns = {
        name: pl.Series(name, np.asarray(delays[name] * 1000, dtype=np.int64))
        if name in delays
        else pl.repeat(None, n, dtype=pl.Int64, eager=True).alias(name)
        for name in names
    }
    columns[TRIAL] = pl.Series(TRIAL, np.arange(n) * blocks // max(n, 1), dtype=pl.Int32)
    return pl.DataFrame(columns).with_columns(
        (pl.col(outer) - pl.col(inner)).alias(name) for name, (outer, inner) in DELTAS.items()
    )
