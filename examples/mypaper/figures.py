"""The paper's table and figure, from this machine's data."""

from __future__ import annotations

from delaylab_study.papers.toolkit import (
    WHISKERS_SAID,
    Chart,
    Group,
    Table,
    box_plot,
    delay,
    five,
    quantile,
    render,
    samples,
)

from .published import MEDIAN_RTT_US


def tables(groups: list[Group]) -> list[Table]:
    """Return the median RTTs beside the paper's."""
    rows: list[list[str | tuple[str, str]]] = []
    for group in groups:
        levels = group.factors["stack"], group.factors["load"]
        if "app" in group.rtt and levels in MEDIAN_RTT_US:
            here, paper = quantile(group.rtt["app"].median), delay(MEDIAN_RTT_US[levels])
            rows.append([*levels, str(group.rtt["app"].n), (here, paper)])
    head = ["stack", "load", "n", "median RTT"]
    return [Table("Median RTT", "In colour: the paper's.", head, rows, texts=2)] if rows else []


def charts(groups: list[Group]) -> list[Chart]:
    """Return the RTTs as boxes: side by side for each load, one colour for each stack."""
    rows = []
    for group in groups:
        values = samples(group, "app")
        if values is not None:
            stack, load = group.factors["stack"], group.factors["load"]
            rows.append(five(values, stack=stack, load=load))
    if not rows:
        return []
    loads = list(dict.fromkeys(row["load"] for row in rows))
    chart = box_plot(rows, "load", "load", loads, "stack").properties(width=640, height=230)
    return [render("rtt-by-load", "RTT by load", f"User RTT. {WHISKERS_SAID}", chart)]
