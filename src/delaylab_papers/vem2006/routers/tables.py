"""Figures 8 to 15 of vem2006 as tables: throughput and latency of virtual routers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from delaylab_study.papers.toolkit import (
    Cells,
    Group,
    HeldRate,
    Table,
    delay,
    quantile,
    samples,
    share,
)

from ..published import FORWARDED, OF_TWO_CPUS, OF_XEN0, OVERLOADED
from .latency import RTT, over
from .searches import (
    CARRIED,
    DELAYED,
    HOST,
    LIMITED,
    PLAIN,
    SEARCHES,
    Setting,
    arrived,
    bursts,
    fairness,
    known,
    lost_shares,
    rank,
    ratio,
    searches,
    setting,
    throughput,
    typical,
)

SETTING = ["links", "kind", "routers", "bytes"]


def tables(groups: list[Group]) -> list[Table]:
    """Return throughput, losses under overload, the engine's cost, and latency."""
    found = searches(groups)
    made = [_throughput(found), _overload(found), _engine(found), _latency(groups)]
    return [table for table in made if table.rows]


def _named(one: Setting) -> Cells:
    return [one.engine, one.kind, str(one.routers), str(one.size)]


def _throughput(found: dict[Setting, list[HeldRate]]) -> Table:
    rows = []
    for one, rates in found.items():
        per_s = throughput(rates)
        middle = _rate(float(typical(per_s)))
        paper = _papers(one)
        even = fairness(rates, overloaded=False, of=arrived)
        bounds = {rate.bound for rate in rates}
        cells: Cells = [
            str(len(rates)),
            middle if paper is None else (middle, _rate(paper)),
            f"{_rate(float(per_s.min()))} … {_rate(float(per_s.max()))}",
            " or ".join(sorted(bounds)),
            f"{even.value:.4f}" if even else "–",
        ]
        rows.append([*_named(one), *cells])
    return Table(
        "Figures 8 and 11 to 13: throughput",
        "Frames per second of which no larger share than tolerated is lost, all routers together; "
        "the median of the best three of five searches, of all if there are fewer. The bound is "
        "what a higher rate fails by: frames are lost, queues grow for as long as it is sent "
        "(backlog), or the generator does not send it. Jain's index of the routers' shares is 1 if "
        "all are equal. In colour: the paper's, plain Linux and one router. Its driver domain "
        f"alone forwards {_rate(OF_XEN0[64])} of 64 bytes, and Linux with a kernel for two CPUs "
        f"{_rate(OF_TWO_CPUS[64])} of 64 and {_rate(OF_TWO_CPUS[1450])} of 1450 bytes.",
        [*SETTING, "searches", "held", "lowest … highest", "bound", "Jain's index"],
        rows,
        texts=len(SETTING),
    )


def _papers(one: Setting) -> float | None:
    """Return the paper's throughput in a setting, if its text has it."""
    if one.engine != PLAIN:
        return None
    if one.kind == HOST:
        return FORWARDED.get(one.size)
    return OVERLOADED[0] if (one.routers, one.size) == (1, 64) else None


def _overload(found: dict[Setting, list[HeldRate]]) -> Table:
    rows = []
    for one, rates in found.items():
        tries = bursts(rates, overloaded=True)
        even = fairness(rates, overloaded=True, of=arrived)
        if not tries:
            continue
        lost = [lost_shares(burst.flows) for burst in tries]
        apart = float(np.median([max(shares) - min(shares) for shares in lost]))
        cells: Cells = [
            str(len(tries)),
            _rate(float(np.median([burst.sent_per_s for burst in tries]))),
            share(float(np.median([burst.lost for burst in tries]))),
            f"{100 * apart:.2f} %",
            f"{even.value:.4f}" if even else "–",
        ]
        rows.append([*_named(one), *cells])
    return Table(
        "Losses under overload",
        "Bursts of a search that lost over 1 % of their frames, medians: what was offered, what "
        "was lost, and how far the router that lost most is from the one that lost least.",
        [*SETTING, "bursts", "offered", "lost", "apart", "Jain's index"],
        rows,
        texts=len(SETTING),
    )


def _engine(found: dict[Setting, list[HeldRate]]) -> Table:
    rates = known(found)
    rows: list[Cells] = []
    for one in rates:
        for before, after in ((PLAIN, CARRIED), (CARRIED, DELAYED), (CARRIED, LIMITED)):
            other = replace(one, engine=after)
            if one.engine == before and other in rates:
                effect = ratio(rates[other], rates[one])
                low, high = effect.interval
                cells = [f"{effect.value - 1:+.1%}", f"{low - 1:+.1%} … {high - 1:+.1%}"]
                rows.append([f"{before} → {after}", *_named(one)[1:], *cells])
    return Table(
        "Figures 11 and 12: what emulation costs",
        f"Change of the throughput, with its 95 % interval from {SEARCHES} searches or more: links "
        "carried by the engine without conditions, and then with a delay of 0.5 ms for what a "
        "router receives, or with a limit of the rate that is never met.",
        [*SETTING, "change", "interval"],
        rows,
        texts=len(SETTING),
    )


def _latency(groups: list[Group]) -> Table:
    of_setting = [(here, group) for group in groups if (here := setting(group)) is not None]
    rows = []
    for here, group in sorted(of_setting, key=lambda pair: rank(pair[0])):
        rtts = samples(group, RTT)
        if rtts is None:
            continue
        delays = (rtts.min(), rtts.mean(), np.median(rtts), np.quantile(rtts, 0.99))
        cells = [delay(float(us)) for us in delays]
        where = [over(group), group.factors["load"], str(len(rtts))]
        rows.append([*_named(here), *where, *cells, _through(group)])
    return Table(
        "Figures 9, 10, 14 and 15: latency",
        "Round trips over one of the routers (over), from the kernel's stamp on sending to that on "
        "receipt, at rest and under a share of the rate held. Through: from the router's one "
        "interface on its host to the other, one way, median.",
        [*SETTING, "over", "load", "n", "least", "mean", "median", "p99", "through"],
        rows,
        texts=len(SETTING) + 2,
    )


def _through(group: Group) -> str:
    """Return the median one-way delay through the request's first router, a dash if not stamped."""
    ends = ("hop1.near", "hop1.far")
    found = [p for p in group.segments if (p.start, p.end) == ends and p.leg == "request"]
    return quantile(found[0].delay.median) if found else "–"


def _rate(per_s: float) -> str:
    return f"{round(per_s):,}/s".replace(",", " ")
