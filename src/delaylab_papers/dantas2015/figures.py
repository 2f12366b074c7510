"""Tables and figures of dantas2015 from this machine's data."""

from __future__ import annotations

import numpy as np

from delaylab_study.papers.toolkit import (
    WHISKERS_SAID,
    Cells,
    Chart,
    Floats,
    Group,
    Rows,
    Table,
    box_plot,
    delay,
    filled,
    five,
    grid,
    label,
    lines,
    pick,
    render,
    robust_scale,
    samples,
    share,
)

from .measures import OUTLIER_US, vms
from .published import TABLE

# The paper's seven capture points, by the names of delays.
POINTS = {
    "app": "ping",
    "stack": "sender VM",
    "vif": "sender bridge",
    "uplink": "sender host NIC",
    "far uplink": "receiver host NIC",
    "far vif": "receiver bridge",
    "far stack": "receiver VM",
}
LOADS = ("cpu", "network", "io")


def tables(groups: list[Group]) -> list[Table]:
    """Return Table II beside the paper's numbers, and the outliers by capture point."""
    return [table for table in (_table2(groups), _outliers(groups)) if table.rows]


def charts(groups: list[Group]) -> list[Chart]:
    """Return the figures for which the dataset has data."""
    found = [*(_boxes(groups, place) for place in ("sender", "receiver")), _means(groups)]
    return [chart for chart in (*found, _points(groups)) if chart is not None]


def _table2(groups: list[Group]) -> Table:
    rows: list[Cells] = []
    for (frequency, driver, core), paper in TABLE.items():
        chosen = pick(groups, vms="0", frequency=frequency, driver=driver, core=core)
        user = samples(chosen[0], "app") if chosen else None
        if user is None:
            continue
        here = (user.min(), np.median(user), user.max(), user.mean(), user.std(ddof=1))
        there = (paper.least, paper.median, paper.most, paper.mean, paper.deviation)
        pairs = [(delay(float(us)), delay(1000 * ms)) for us, ms in zip(here, there, strict=True)]
        rows.append([frequency, driver, core, str(len(user)), *pairs])
    return Table(
        "Table II: RTT without load",
        "User RTT. In colour: the paper's (KVM, Intel i7, 1 Gbit/s, Linux 3.2).",
        ["frequency", "driver", "core", "n", "min", "median", "max", "mean", "SD"],
        rows,
        texts=3,
    )


def _boxes(groups: list[Group], place: str) -> Chart | None:
    rows: Rows = []
    for group in groups:
        user = samples(group, "app")
        loads = LOADS if vms(group) == 0 else (group.factors.get("load", ""),)
        if user is None or (vms(group) > 0 and group.factors.get("place") != place):
            continue
        row = label(group, "driver", "frequency")
        core = group.factors.get("core", "")
        rows += [five(user, vms=vms(group), core=core, load=each, row=row) for each in loads]
    loaded = {(row["load"], row["row"]) for row in rows if row["vms"] > 0}
    rows = [row for row in rows if (row["load"], row["row"]) in loaded]
    if not rows:
        return None
    rows = filled(sorted(rows, key=lambda row: LOADS.index(row["load"])), "load", "row")
    chart = box_plot(rows, "vms", "background VMs", _numbers(rows), "core")
    return render(
        f"rtt-by-vms-{place}",
        f"RTT against the number of background VMs, load at the {place}",
        f"User RTT by load, driver and frequency (figure 2 of the paper). {WHISKERS_SAID}",
        grid(chart, rows, "load", "row"),
    )


def _means(groups: list[Group]) -> Chart | None:
    rows: Rows = []
    for group in groups:
        loaded = group.factors.get("load") == "network" and group.factors.get("place") == "sender"
        if not loaded and vms(group) > 0:
            continue
        for point, name in POINTS.items():
            values = samples(group, point)
            if values is not None and values.mean() > 0:
                where = {"row": label(group, "core", "frequency")}
                where["driver"] = group.factors.get("driver", "")
                rows.append({"us": float(values.mean()), "vms": vms(group), "point": name} | where)
    shown = {row["row"] for row in rows if row["vms"] > 0}
    rows = [row for row in rows if row["row"] in shown]
    if not rows:
        return None
    rows = filled(rows, "driver", "row")
    axis = "mean RTT (log)"
    chart = lines(rows, "vms", "background VMs", _numbers(rows), "point", of=axis)
    return render(
        "mean-rtt-by-point",
        "Mean RTT at each capture point, network load at the sender",
        "Where the lines part, delay is added between two points (figure 3, left and centre, of "
        "the paper). At the receiver's points an RTT is the time that its side took.",
        grid(chart, rows, "driver", "row"),
    )


def _points(groups: list[Group]) -> Chart | None:
    rows = [
        five(values, point=POINTS[point])
        for point, values in _all_samples(groups).items()
        if len(values)
    ]
    if not rows:
        return None
    chart = box_plot(rows, "point", "capture point", list(POINTS.values()))
    n = sum(group.rtt["app"].n for group in groups if "app" in group.rtt)
    return render(
        "rtt-by-point",
        "RTT at each capture point, all trials",
        f"All loads together (figure 3, right, of the paper); n = {n} packets at most. "
        f"{WHISKERS_SAID}",
        chart.properties(width=640, height=230),
    )


def _outliers(groups: list[Group]) -> Table:
    rows: list[Cells] = []
    for point, values in _all_samples(groups).items():
        if len(values) == 0:
            continue
        scale = robust_scale(values)
        slow = [
            sum(int((v > OUTLIER_US).sum()) for v in _by_load(groups, point, load))
            for load in ("none", *LOADS)
        ]
        flagged = share(float(scale.flags(values).mean()))
        rows.append([POINTS[point], str(len(values)), flagged, *map(str, slow)])
    return Table(
        "Outliers by capture point",
        "Outliers lie further than 3.5 robust standard deviations from the median of all trials; "
        "none is dropped. The last columns count RTTs above 100 ms by load (section IV.E of the "
        "paper: they come with network load).",
        ["point", "n", "outliers", *(f"> 100 ms, {load}" for load in ("no load", *LOADS))],
        rows,
    )


def _all_samples(groups: list[Group]) -> dict[str, Floats]:
    found = {point: [samples(group, point) for group in groups] for point in POINTS}
    return {
        point: np.concatenate([np.zeros(0), *(v for v in values if v is not None)])
        for point, values in found.items()
    }


def _by_load(groups: list[Group], point: str, load: str) -> list[Floats]:
    found = [samples(group, point) for group in pick(groups, load=load)]
    return [values for values in found if values is not None]


def _numbers(rows: Rows) -> list[int]:
    return sorted({row["vms"] for row in rows})
