"""Chart of the times of messages by their size."""

from __future__ import annotations

from collections.abc import Sequence

from delaylab_study.analysis.group import Group
from delaylab_study.charts.lazy import alt
from delaylab_study.charts.vega import (
    Chart,
    Rows,
    colour,
    delay_scale,
    delay_ticks,
    inline,
    render,
    setup_colours,
    ticks_of,
)

GROUPS = 10
"""Largest number of groups that one chart has."""
OPERATIONS = ("round-trip", "exchange")
WIDTH, HEIGHT = 300, 240
_IN_KIB = "datum.value < 1024 ? datum.value : datum.value / 1024 + 'Ki'"


def message_charts(groups: Sequence[Group]) -> list[Chart]:
    """Return a chart for each work that measured messages, in the order of the study."""
    names = dict.fromkeys(work.name for group in groups for work in group.works if work.messages)
    return [_chart(name, groups) for name in names]


def _chart(name: str, groups: Sequence[Group]) -> Chart:
    """Return the median time of messages of each size, in a panel for each operation."""
    known = [
        (group.label, work)
        for group in groups
        for work in group.works
        if work.name == name and work.messages
    ]
    drawn = known[:GROUPS]
    rows: Rows = [
        {
            "trials": label,
            "operation": message.operation,
            "bytes": message.size_bytes,
            "us": message.median_ns / 1e3,
        }
        for label, work in drawn
        for message in work.messages
        if message.operation in OPERATIONS
    ]
    labels = [label for label, _ in drawn]
    ticks = delay_ticks(ticks_of(rows, "us"))
    sizes = sorted({row["bytes"] for row in rows})
    size = alt.X(
        "bytes:Q",
        title="size of a message in bytes (log)",
        scale=alt.Scale(type="log", base=2, nice=False),
        axis=alt.Axis(values=sizes, labelExpr=_IN_KIB, labelOverlap="greedy"),
    )
    panels = [
        alt.Chart(inline([row for row in rows if row["operation"] == operation]), title=operation)
        .mark_line(point=True, strokeWidth=1.5)
        .encode(
            x=size,
            y=alt.Y("us:Q", title="median (log)", scale=delay_scale(), axis=ticks),
            color=colour("trials", labels, setup_colours(labels), "trials"),
        )
        .properties(width=WIDTH, height=HEIGHT)
        for operation in OPERATIONS
    ]
    some = f" The first {len(drawn)} of {len(known)} groups." if len(drawn) < len(known) else ""
    return render(
        f"messages-{name}",
        f"Messages of {name}",
        "The median time of messages of each size. Round-trip: until as many bytes are back. "
        f"Exchange: both ranks send at once, about one way.{some}",
        alt.concat(*panels, columns=2).resolve_scale(y="shared"),
    )
