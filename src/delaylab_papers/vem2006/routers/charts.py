"""Figures 8 to 15 of vem2006 as charts: throughput and latency of virtual routers."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from delaylab_study.papers.toolkit import (
    COLOURS,
    Chart,
    Group,
    HeldRate,
    Rows,
    alt,
    coloured,
    delay_y,
    inline,
    render,
    samples,
)

from .latency import FIRST, RTT, over
from .searches import HOST, Setting, bursts, rank, searches, setting, throughput, typical

Panel = tuple[str, int, str]
"""Kind of router, frame size, and sort of links."""
MOST = 10
"""Largest number of routers that have a colour of their own."""


def charts(groups: list[Group]) -> list[Chart]:
    """Return throughput by routers and by frame size, and latency by routers."""
    found = searches(groups)
    made = (_by_routers(found), _by_size(found), _latency(groups))
    return [chart for chart in made if chart is not None]


def _panels(every: Iterable[Setting]) -> dict[Setting, list[Panel]]:
    """Return the panels in which each setting is drawn.

    A panel needs several settings. One stack without routers is drawn beside the routers of
    every kind.
    """
    settings = list(every)
    own = [s for s in settings if s.kind != HOST]
    panels = {one: [(one.kind, one.size, one.engine)] for one in sorted(own, key=rank)}
    for none in (s for s in settings if s.kind == HOST):
        beside = (s for s in own if (s.size, s.engine) == (none.size, none.engine))
        panels[none] = list(dict.fromkeys(panel for s in beside for panel in panels[s]))
    drawn = [panel for of_one in panels.values() for panel in of_one]
    return {one: [p for p in of_one if drawn.count(p) > 1] for one, of_one in panels.items()}


def _place(panel: Panel) -> dict[str, str]:
    kind, size, engine = panel
    return {"panel": f"{kind}, links {engine}, {size} bytes"}


def _wrapped(chart: alt.Chart, rows: Rows) -> alt.FacetChart:
    """Return the chart once for every panel in the rows."""
    panels = list(dict.fromkeys(row["panel"] for row in rows))
    head = alt.Header(title=None, labelFontSize=12, labelFontWeight=600)
    return chart.properties(width=250, height=170).facet(
        alt.Facet("panel:N", header=head, sort=panels), columns=3
    )


def _by_routers(rates: dict[Setting, list[HeldRate]]) -> Chart | None:
    rows: Rows = [
        {**_place(panel), **part}
        for one, panels in _panels(rates).items()
        for panel in panels
        for part in _split(one, rates[one])
    ]
    if not rows:
        return None
    numbers = sorted({row["routers"] for row in rows})
    routers = list(range(1, MOST + 1))
    colours = alt.Scale(domain=routers, range=[*COLOURS, "#44AA99", "#888888"])
    bars = (
        alt.Chart(inline(rows))
        .mark_bar(stroke="white", strokeWidth=0.5)
        .encode(
            x=alt.X("routers:N", title="virtual routers", sort=numbers),
            y=alt.Y("per_s:Q", title="frames/s", axis=alt.Axis(format="~s")),
            color=alt.Color("router:N", title="router", sort=routers, scale=colours),
            order=alt.Order("router:Q"),
        )
    )
    return render(
        "throughput-by-routers",
        "Throughput, and how it is split among the routers",
        "Highest rate that is held (best three of five searches), stacked by what arrived over "
        "each router (figures 8, 11 and 12 of the paper). 0: one stack routes, without routers.",
        _wrapped(bars, rows),
    )


def _split(one: Setting, rates: list[HeldRate]) -> Rows:
    """Return one row per router: the frames/s that arrive over it at the rate held."""
    tries = bursts(rates, overloaded=False)
    shares = np.array([[flow.received / burst.received for flow in burst.flows] for burst in tries])
    split = shares.mean(axis=0) if len(shares) else np.ones(1)
    total = float(typical(throughput(rates)))
    return [
        {"routers": one.routers, "router": number, "per_s": total * float(share)}
        for number, share in enumerate(split, start=1)
    ]


def _by_size(found: dict[Setting, list[HeldRate]]) -> Chart | None:
    rows: Rows = [
        {
            "bytes": one.size,
            "per_s": float(typical(throughput(rates))),
            "links": f"{one.kind}, links {one.engine}",
        }
        for one, rates in found.items()
        if one.routers == 1
    ]
    sizes = sorted({row["bytes"] for row in rows})
    lines = [row["links"] for row in rows]
    rows = [row for row in rows if lines.count(row["links"]) > 1]
    if not rows:
        return None
    chart = (
        alt.Chart(inline(rows))
        .mark_line(point=True, strokeWidth=2)
        .encode(
            x=alt.X("bytes:O", title="bytes of a frame", sort=sizes),
            y=alt.Y("per_s:Q", title="frames/s", axis=alt.Axis(format="~s")),
            color=coloured(rows, "links"),
        )
    )
    return render(
        "throughput-by-size",
        "Throughput of one router, by frame size",
        "Highest rate that is held, best three of five searches (figure 13 of the paper).",
        chart.properties(width=640, height=220),
    )


def _latency(groups: list[Group]) -> Chart | None:
    by_setting: dict[Setting, list[Group]] = {}
    for group in groups:
        here = setting(group)
        if here is not None and over(group) == FIRST and samples(group, RTT) is not None:
            by_setting.setdefault(here, []).append(group)
    rows: Rows = [
        {**_place(panel), "us": median, "routers": one.routers, "load": group.factors["load"]}
        for one, panels in _panels(by_setting).items()
        for panel in panels
        for group in by_setting[one]
        if (median := group.rtt[RTT].median.value) is not None
    ]
    if not rows:
        return None
    numbers = sorted({row["routers"] for row in rows})
    ticks = [step * 10.0**decade for decade in range(6) for step in (1, 2, 5)]
    drawn = (
        alt.Chart(inline(rows))
        .mark_line(point=True, strokeWidth=2)
        .encode(
            x=alt.X("routers:N", title="virtual routers", sort=numbers),
            y=delay_y("median RTT (log)", ticks=ticks),
            color=coloured(rows, "load"),
        )
    )
    return render(
        "latency-by-routers",
        "Latency over one of the routers",
        "Median RTT of the kernel's stamps at rest, and under shares of the rate held, which "
        "differs from number to number (figures 9, 10, 14 and 15 of the paper). 0: the host's own "
        "stack.",
        _wrapped(drawn, rows),
    )
