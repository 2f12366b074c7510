"""Results of vem2006's experiment on isolation as tables and a chart: what each flow receives."""

from __future__ import annotations

import numpy as np

from delaylab_study.papers.toolkit import (
    COLOURS,
    Cells,
    Chart,
    Effect,
    Group,
    Rows,
    Table,
    alt,
    delay,
    filled,
    grid,
    inline,
    render,
)

from .measures import (
    BUSY,
    HALF,
    HOG,
    NOTHING,
    QUIET,
    SHAPED_MS,
    KindAndSize,
    blocks,
    hog_takes,
    settings,
    shaped,
    unshaped_rates,
)

CONDITIONS = {
    "nothing": (NOTHING, QUIET),
    "half shaped": (HALF, QUIET),
    "hog": (NOTHING, BUSY),
    "both": (HALF, BUSY),
}
UNSHAPED, OF_HOG = "not shaped (mean)", "the hog's own"


def tables(groups: list[Group]) -> list[Table]:
    """Return what flows receive, what they lose to others, and how true shaped flows are."""
    made = [_received(groups), _lost(groups), _shaped(groups)]
    return [table for table in made if table.rows]


def charts(groups: list[Group]) -> list[Chart]:
    """Return a chart of what each flow receives under each condition."""
    rows: Rows = [
        {"column": f"{kind}, {size} bytes", "row": "", "flow": flow, "while": name, "per_s": per_s}
        for kind, size in settings(groups)
        for flow, by_condition in _flows(groups, (kind, size)).items()
        for name, per_s in by_condition.items()
    ]
    if not rows:
        return []
    flows = list(dict.fromkeys(row["flow"] for row in rows))
    names = list(CONDITIONS)
    bars = (
        alt.Chart(inline(filled(rows, "column", "row")))
        .mark_bar()
        .encode(
            x=alt.X("flow:N", title=None, sort=flows),
            xOffset=alt.XOffset("while:N", sort=names),
            y=alt.Y("per_s:Q", title="frames/s received", axis=alt.Axis(format="~s")),
            color=alt.Color(
                "while:N", sort=names, scale=alt.Scale(domain=names, range=COLOURS[: len(names)])
            ),
        )
    )
    return [
        render(
            "isolation",
            "What flows receive while others are shaped or a node burns CPU",
            "Median over the blocks, at the highest rate held. Shaped flows may have 100 Mbit/s, "
            "over emulated routers 10 Mbit/s.",
            grid(bars, rows, "column", "row"),
        )
    ]


def _flows(groups: list[Group], where: KindAndSize) -> dict[str, dict[str, float]]:
    """Return frames/s received by flow and condition, the median over the blocks."""
    found: dict[str, dict[str, float]] = {}
    for name, (shaping, load) in CONDITIONS.items():
        trials = list(blocks(groups, where, shaping, load).values())
        if not trials:
            continue
        found.setdefault(UNSHAPED, {})[name] = _median([t.unshaped(t.per_s) for t in trials])
        found.setdefault(OF_HOG, {})[name] = _median([t.per_s[HOG] for t in trials])
        for link, delay_ms in SHAPED_MS.items():
            shaped_flow = f"shaped, {delay_ms} ms"
            found.setdefault(shaped_flow, {})[name] = _median([t.per_s[link] for t in trials])
    return found


def _median(values: list[float]) -> float:
    return float(np.median(values))


def _received(groups: list[Group]) -> Table:
    rows: list[Cells] = []
    for kind, size in settings(groups):
        for flow, by_condition in _flows(groups, (kind, size)).items():
            cells = [f"{by_condition[n]:,.0f}" if n in by_condition else "–" for n in CONDITIONS]
            rows.append([kind, size, flow, *(cell.replace(",", " ") for cell in cells)])
    return Table(
        "Isolation: what flows receive",
        "Frames per second, median over the blocks, at the highest rate that all flows hold while "
        "none has a limit. Nothing: no flow is shaped and nobody burns CPU.",
        ["kind", "bytes", "flow", *CONDITIONS],
        rows,
        texts=3,
    )


def _lost(groups: list[Group]) -> Table:
    rows: list[Cells] = []
    for kind, size in settings(groups):
        where = (kind, size)
        effects = {
            "half of the flows are shaped": unshaped_rates(groups, where),
            "the hog": hog_takes(groups, where, NOTHING),
            "the hog, while half are shaped": hog_takes(groups, where, HALF),
        }
        rows += [[kind, size, by, *_change(effect)] for by, effect in effects.items() if effect]
    return Table(
        "Isolation: what others change for the flows that are not shaped",
        "Means over the blocks, each trial beside the one of its block without. Shaping: of the "
        "frames received per second. The hog: of the share that arrives of the frames configured.",
        ["kind", "bytes", "by", "change", "interval"],
        rows,
        texts=3,
    )


def _change(effect: Effect) -> list[str]:
    low, high = effect.interval
    return [f"{effect.value:+.2%}", f"{low:+.2%} … {high:+.2%}"]


def _shaped(groups: list[Group]) -> Table:
    found = shaped(groups)
    rows: list[Cells] = []
    for kind, size in dict.fromkeys((each.kind, each.size) for each in found):
        for link, delay_ms in SHAPED_MS.items():
            alike = [e for e in found if (e.link, e.kind, e.size) == (link, kind, size)]
            lates = [each.late_us for each in alike if each.late_us is not None]
            off = max((each.ratio - 1 for each in alike), key=abs)
            late = delay(max(lates)) if lates else "–"
            cells = [f"{delay_ms} ms", str(len(alike)), f"{off:+.2%}", late]
            rows.append([kind, size, *cells])
    return Table(
        "Isolation: what shaped flows get",
        "Off what is due: its limit, with framing, of a flow that sends more, else all that it "
        "sent; the trial furthest off. Late: by how much half of the frames left "
        "after they were due, in the trial where that was most.",
        ["kind", "bytes", "delay", "trials", "rate off by", "late"],
        rows,
        texts=3,
    )
