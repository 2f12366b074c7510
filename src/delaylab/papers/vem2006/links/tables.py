"""Figures 16 to 19 of vem2006 as tables, with this machine's numbers beside the paper's."""

from __future__ import annotations

from delaylab.analysis.group import Group
from delaylab.charts import words
from delaylab.charts.tables import Table
from delaylab.papers.vem2006.links.measures import Delay, delays, rates
from delaylab.papers.vem2006.published import (
    AT_REST,
    DELAY_MS,
    RATES,
    RATES_UNDER_DELAY,
    UNDER_LOAD,
    Delays,
)

Rows = list[list[str | tuple[str, str]]]
CONFIGURED_MBIT = {
    "1Mbit": 1.0,
    "10Mbit": 10.0,
    "100Mbit": 100.0,
    "1Gbit": 1000.0,
    "2.5Gbit": 2500.0,
}


def tables(groups: list[Group]) -> list[Table]:
    """Return delays under load and at rest, rates, and rates under delay."""
    found = [
        _delays("Figure 16: delays under load", delays(groups, loaded=True), UNDER_LOAD),
        _delays("Figure 17: delays at rest", delays(groups, loaded=False), AT_REST),
        _rates(groups),
        _rates_under_delay(groups),
    ]
    return [table for table in found if table.rows]


def _delays(title: str, found: list[Delay], paper: Delays) -> Table:
    rows: Rows = []
    for delay in found:
        least, mean, deviation = paper[delay.size][delay.configured]
        configured_us = DELAY_MS[delay.configured] * 1000
        error = delay.error
        cells: list[str | tuple[str, str]] = [
            (words.delay(configured_us + error.least), f"{least:g}"),
            (words.delay(configured_us + error.mean), f"{mean:g}"),
            (words.delay(error.deviation), f"{deviation:g}"),
            *(words.delay(configured_us + value) for value in (error.median, error.p99)),
        ]
        rows.append([delay.size, delay.configured, str(delay.n), *cells])
    return Table(
        title,
        "One way, between the ports of the link's engine. In colour: the paper's, in ms, which "
        "also has the way through its routers.",
        ["bytes", "configured", "n", "least", "mean", "SD", "median", "p99"],
        rows,
        texts=2,
    )


def _rates(groups: list[Group]) -> Table:
    rows: Rows = [
        [size, rate, _beside(ratio, rate, RATES.get(size, {}).get(rate)), f"{ratio - 1:+.2%}"]
        for (size, delay, rate), ratio in sorted(rates(groups).items(), key=_order)
        if delay == "0"
    ]
    return Table(
        "Figure 18: rates",
        "Mbit/s, framing counted; frames of this size were offered at more than the rate. In "
        "colour: the paper's.",
        ["bytes", "configured", "achieved", "off by"],
        rows,
        texts=2,
    )


def _rates_under_delay(groups: list[Group]) -> Table:
    rows: Rows = [
        [delay, rate, _beside(ratio, rate, RATES_UNDER_DELAY[delay].get(rate)), f"{ratio - 1:+.2%}"]
        for (_, delay, rate), ratio in sorted(rates(groups).items(), key=_order)
        if delay in RATES_UNDER_DELAY
    ]
    return Table(
        "Figure 19: rates under delay",
        "Mbit/s of frames of 1450 bytes, framing counted. In colour: the paper's.",
        ["delay", "configured", "achieved", "off by"],
        rows,
        texts=2,
    )


def _order(item: tuple[tuple[str, str, str], float]) -> tuple[int, float, float]:
    (size, delay, rate), _ = item
    return int(size), DELAY_MS[delay], CONFIGURED_MBIT[rate]


def _beside(ratio: float, configured: str, paper: float | None) -> str | tuple[str, str]:
    here = f"{ratio * CONFIGURED_MBIT[configured]:.4g}"
    return here if paper is None else (here, f"{paper:g}")
