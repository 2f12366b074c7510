"""Figures 16 to 19 of vem2006 as tables, with this machine's numbers beside the paper's."""

from __future__ import annotations

import numpy as np

from delaylab_study.papers.toolkit import Cells, Group, Table, delay

from ..published import AT_REST, DELAY_MS, PEAKS, RATES, RATES_UNDER_DELAY, UNDER_LOAD, Delays
from .delays import delays, wholes
from .rates import Limit, Received, budgets, peaks, rates

Rows = list[Cells]


def tables(groups: list[Group]) -> list[Table]:
    """Return delays under load and at rest, rates, and rates under delay."""
    found = [
        _delays("Figure 16: delays under load", groups, UNDER_LOAD, loaded=True),
        _delays("Figure 17: delays at rest", groups, AT_REST, loaded=False),
        _rates(groups),
        _rates_under_delay(groups),
    ]
    return [table for table in found if table.rows]


def _delays(title: str, groups: list[Group], paper: Delays, *, loaded: bool) -> Table:
    of_links = {(each.size, each.configured): each for each in delays(groups, loaded=loaded)}
    rows: Rows = []
    for (size, configured), whole in wholes(groups, loaded=loaded).items():
        least, mean, deviation = paper[size][configured]
        rtts = np.concatenate(list(whole.by_block.values()))
        deviations = [float(each.std()) for each in whole.by_block.values()]
        link = of_links.get((size, configured))
        configured_us = DELAY_MS[configured] * 1000
        cells: Cells = [
            (delay(float(rtts.min())), f"{least:g}"),
            (delay(float(rtts.mean())), f"{mean:g}"),
            (delay(float(np.median(deviations))), f"{deviation:g}"),
            *(
                (delay(configured_us + us) for us in (link.least, link.mean.value))
                if link
                else "––"
            ),
        ]
        rows.append([size, configured, str(len(rtts)), *cells])
    return Table(
        title,
        "Kernel RTTs over one of ten routers, delayed one way: least, mean, median of the trials' "
        "SD. In colour: the paper's, in ms, one way over hosts and router. "
        "Link: one way between the ports of its engine.",
        ["bytes", "configured", "n", "least", "mean", "SD", "link, least", "link, mean"],
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
