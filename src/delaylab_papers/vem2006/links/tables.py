"""Figures 16 to 19 of vem2006 as tables, with this machine's numbers beside the paper's."""

from __future__ import annotations

import numpy as np

from delaylab_study.papers.toolkit import Cells, Group, Table, delay

from ..published import AT_REST, DELAY_MS, PEAKS, RATES, RATES_UNDER_DELAY, UNDER_LOAD, Delays
from .delays import Delay, delays
from .rates import Limit, Received, budgets, peaks, rates

Rows = list[Cells]


def tables(groups: list[Group]) -> list[Table]:
    """Return delays under load and at rest, rates, and rates under delay."""
    found = [
        _delays("Figure 16: delays under load", delays(groups, loaded=True), UNDER_LOAD),
        _delays("Figure 17: delays at rest", delays(groups, loaded=False), AT_REST),
        _rates(groups),
        _rates_under_delay(groups),
    ]
    return [table for table in found if table.rows]


def _delays(title: str, delays: list[Delay], paper: Delays) -> Table:
    rows: Rows = []
    for each in delays:
        least, mean, deviation = paper[each.size][each.configured]
        configured_us = DELAY_MS[each.configured] * 1000
        cells: Cells = [
            (delay(configured_us + each.least), f"{least:g}"),
            (delay(configured_us + each.mean.value), f"{mean:g}"),
            (delay(each.deviation), f"{deviation:g}"),
            *(delay(configured_us + value) for value in (each.median, each.p99)),
        ]
        rows.append([each.size, each.configured, str(each.n), *cells])
    return Table(
        title,
        "One way, between the ports of the link's engine, over one of ten routers. Least of all "
        "trials, mean of the trials' means, medians of their SD, median and p99. In colour: the "
        "paper's, in ms, which also has the way through its routers.",
        ["bytes", "configured", "n", "least", "mean", "SD", "median", "p99"],
        rows,
        texts=2,
    )


def _rates(groups: list[Group]) -> Table:
    rows: Rows = [
        [size, "none", (_mbit(received), f"{PEAKS[size]:g}"), "–", _spread(received)]
        for size, received in sorted(peaks(groups).items(), key=lambda item: int(item[0]))
    ]
    rows += [
        [limit.size, limit.rate, *_cells(limit, received, RATES[limit.size].get(limit.rate))]
        for limit, received in sorted(rates(groups).items(), key=_order)
        if limit.delay == "0"
    ]
    rows += [
        [
            limit.size,
            f"{limit.rate}, budget",
            *_cells(limit, received, RATES[limit.size].get(limit.rate)),
        ]
        for limit, received in sorted(budgets(groups).items(), key=_order)
    ]
    return Table(
        "Figure 18: rates",
        "Mbit/s received by one of four streams at peak, framing counted, mean of the blocks; with "
        "a budget of bytes that is refilled 100 times a second, as the paper's shaper has it, "
        "frames count with their own bytes. In colour: the paper's.",
        ["bytes", "configured", "received", "off by", "lowest … highest"],
        rows,
        texts=2,
    )


def _rates_under_delay(groups: list[Group]) -> Table:
    rows: Rows = [
        [limit.delay, limit.rate, *_cells(limit, received, theirs)]
        for limit, received in sorted(rates(groups).items(), key=_order)
        if limit.delay in RATES_UNDER_DELAY
        for theirs in [RATES_UNDER_DELAY[limit.delay].get(limit.rate)]
    ]
    return Table(
        "Figure 19: rates under delay",
        "Mbit/s of frames of 1450 bytes, received by one of four streams at peak, framing counted. "
        "In colour: the paper's.",
        ["delay", "configured", "received", "off by", "lowest … highest"],
        rows,
        texts=2,
    )


def _order(item: tuple[Limit, Received]) -> tuple[int, float, float]:
    limit, _ = item
    return int(limit.size), DELAY_MS[limit.delay], limit.bps


def _cells(limit: Limit, received: Received, paper: float | None) -> Cells:
    here = _mbit(received)
    off = np.mean(list(received.by_block.values())) / limit.bps - 1
    return [here if paper is None else (here, f"{paper:g}"), f"{off:+.2%}", _spread(received)]


def _mbit(received: Received) -> str:
    return f"{np.mean(list(received.by_block.values())) / 1e6:.4g}"


def _spread(received: Received) -> str:
    low, high = min(received.by_block.values()), max(received.by_block.values())
    return f"{low / 1e6:.4g} … {high / 1e6:.4g}"
