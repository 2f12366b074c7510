"""Charts of the nodes' work: their shares beside an ideal scheduler's, and how the work went on."""

from __future__ import annotations

import numpy as np

from delaylab_study.analysis.delay_by_share import DelayByShare
from delaylab_study.analysis.group import Group
from delaylab_study.analysis.statistics.runs import spread
from delaylab_study.analysis.work import Work
from delaylab_study.charts.lazy import alt
from delaylab_study.charts.vega import (
    INK,
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

# Largest number of groups that one chart of shares has.
GROUPS = 10
# Largest number of trials whose progress is drawn.
PANELS = 6
# Largest number of packets of a group whose delays are drawn, and how many of them are the slowest.
POINTS, SLOWEST = 600, 100
WIDTH, HEIGHT = 420, 240
NODES = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#882255", "#999933")


def work_charts(groups: list[Group]) -> list[Chart]:
    """Return the charts of each work in the order of the study: shares, progress, delays."""
    names = dict.fromkeys(work.name for group in groups for work in group.works)
    drawings = (_shares, _progress, _delays)
    found = [draw(name, groups) for name in names for draw in drawings]
    return [chart for chart in found if chart is not None]


def _of(name: str, groups: list[Group]) -> list[tuple[str, Work]]:
    return [(g.label, work) for g in groups for work in g.works if work.name == name]


def _shares(name: str, groups: list[Group]) -> Chart | None:
    """Return the share of nodes that got at most so much."""
    known = [(label, work) for label, work in _of(name, groups) if work.fairness is not None]
    drawn = known[:GROUPS]
    if not drawn:
        return None
    rows = [row for label, work in drawn for row in _steps(label, work)]
    labels = [label for label, _ in drawn]
    most = max(row["share"] for row in rows)
    x = alt.X(
        "share:Q",
        title="share, in % of the fair share",
        scale=alt.Scale(domain=[0, max(150, most)]),
    )
    steps = (
        alt.Chart(inline(rows))
        .mark_line(interpolate="step-after", strokeWidth=2)
        .encode(
            x=x,
            y=alt.Y("nodes:Q", title="share of the nodes", axis=alt.Axis(format="%", tickCount=4)),
            color=colour("trials", labels, setup_colours(labels), "trials"),
        )
    )
    chart = alt.layer(_ideal(x, max(150, most)), steps).properties(width=WIDTH, height=HEIGHT)
    some = f" The first {len(drawn)} of {len(known)} groups." if len(drawn) < len(known) else ""
    return render(
        f"shares-{name}",
        f"Shares of {name}",
        "How many of the nodes got at most so much of the work, while all worked (means over the "
        f"trials). Dashed: an ideal scheduler, which gives every node 100 % of a fair share.{some}",
        chart,
    )


def _ideal(x: alt.X, end: float) -> alt.Chart:
    corners = [(0, 0), (100, 0), (100, 1), (end, 1)]
    rows: Rows = [{"share": share, "nodes": nodes} for share, nodes in corners]
    chart: alt.Chart = (
        alt.Chart(inline(rows))
        .mark_line(color=INK, strokeDash=[4, 3], strokeWidth=1.2)
        .encode(x=x, y="nodes:Q", order=alt.value(0))
    )
    return chart


def _steps(label: str, work: Work) -> Rows:
    shares = work.fairness.shares.values() if work.fairness is not None else ()
    found = sorted(100 * share.of_fair.value for share in shares)
    rows: Rows = [{"trials": label, "share": 0.0, "nodes": 0.0}]
    rows += [
        {"trials": label, "share": share, "nodes": number / len(found)}
        for number, share in enumerate(found, start=1)
    ]
    return rows


def _progress(name: str, groups: list[Group]) -> Chart | None:
    """Return how far each node was over time, in the first trial of each group."""
    known = [(label, work) for label, work in _of(name, groups) if work.courses]
    drawn = known[:PANELS]
    if not drawn:
        return None
    nodes = list(dict.fromkeys(node for _, work in drawn for node in work.courses[0].done))
    colours = {node: NODES[at % len(NODES)] for at, node in enumerate(nodes)}
    panels = [_panel(label, work, nodes, colours) for label, work in drawn]
    chart = alt.concat(*panels, columns=2 if len(panels) > 1 else 1).resolve_scale(color="shared")
    some = f" {len(drawn)} of {len(known)} groups." if len(drawn) < len(known) else ""
    return render(
        f"progress-{name}",
        f"Progress of {name}",
        "The work that each node had done, in % of the most that one had done when the first node "
        "was through; the first trial of each group. A flat line is a node that stood still."
        f"{some}",
        chart,
    )


def _panel(label: str, work: Work, nodes: list[str], colours: dict[str, str]) -> alt.Chart:
    course = work.courses[0]
    most = max(float(amounts[-1]) for amounts in course.done.values()) or 1.0
    rows: Rows = [
        {
            "node": node,
            "s": 0.0 if at < 0 else float(course.times_s[at]),
            "done": 0.0 if at < 0 else float(amounts[at]) / most,
        }
        for node, amounts in course.done.items()
        for at in range(-1, len(amounts))
    ]
    chart: alt.Chart = (
        alt.Chart(inline(rows), title=label)
        .mark_line(strokeWidth=1.5)
        .encode(
            x=alt.X("s:Q", title="time (s)"),
            y=alt.Y("done:Q", title="done", axis=alt.Axis(format="%", tickCount=4)),
            color=colour("node", nodes, colours, "node"),
        )
        .properties(width=WIDTH, height=HEIGHT // 2)
    )
    return chart


def _delays(name: str, groups: list[Group]) -> Chart | None:
    """Return each packet's delay against the share that the probe's node had when it was due."""
    known = [
        (group.label, [b for b in group.work.by_share if b.work == name])
        for group in groups
        if group.work
    ]
    drawn = [(label, found) for label, found in known if found][:GROUPS]
    rows = [row for label, found in drawn for row in _points(label, found)]
    if not rows:
        return None
    labels = [label for label, _ in drawn]
    node = drawn[0][1][0].node
    chart = (
        alt.Chart(inline(rows))
        .mark_circle(size=14, opacity=0.55, aria=False)
        .encode(
            x=alt.X("share:Q", title=f"share of {node} at that moment, in % of the fair share"),
            y=alt.Y(
                "us:Q",
                title="reply after the packet was due (log)",
                scale=delay_scale(),
                axis=delay_ticks(ticks_of(rows, "us")),
            ),
            color=colour("trials", labels, setup_colours(labels), "trials"),
        )
        .properties(width=WIDTH, height=HEIGHT)
    )
    return render(
        f"delay-by-share-{name}",
        f"Delay against the share of {name}",
        "Each point is a packet that was due while all worked: how long after that its reply was "
        f"there (send slip and user RTT), and the share that node {node} had then, within some 50 "
        f"ms. Points at the left are packets of a node that had to wait. At most {POINTS} packets "
        f"of a group, the {SLOWEST} slowest among them.",
        chart,
    )


def _points(label: str, delays: list[DelayByShare]) -> Rows:
    share = np.concatenate([each.share for each in delays])
    us = np.concatenate([each.since_due_us for each in delays])
    order = np.argsort(-us, kind="stable")
    rest = order[SLOWEST:]
    kept = np.concatenate([order[:SLOWEST], rest[spread(len(rest), POINTS - SLOWEST)]])
    return [
        {"trials": label, "share": 100 * float(share[at]), "us": float(us[at])}
        for at in kept.tolist()
        if us[at] > 0
    ]
