"""Tables and figures of oliveira2022 from this machine's data."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from delaylab_study.papers.toolkit import (
    Cells,
    Chart,
    Floats,
    Group,
    Rows,
    Table,
    alt,
    associations_in,
    delay,
    filled,
    grid,
    held_rates,
    inline,
    label,
    lines,
    outlier_shares,
    render,
    share,
    thinned,
    whole,
)

from .balance import (
    CONTAINERS,
    KVM,
    LOADS,
    OVER_RTT,
    OVERHEAD,
    PLACES,
    RATES,
    RTT,
    alike,
    blocks,
    in_blocks,
    of,
    run,
    together,
    under_every_load,
    vms,
    with_guests_and_without,
)
from .published import AFFINITY, OUTLIERS, WAY_US

TECHNOLOGIES = {"kvm": KVM, **{name: (name,) for name in CONTAINERS}}
NAMES = {"kvm": "KVM", "lxc": "LXC", "docker": "Docker"}
Trial = tuple[dict[str, str], Floats]
"""The levels of a trial, and a quantity of its packets."""
# Factors by which the paper's outlier tables tell scenarios apart.
SCENARIOS = ("load", "place")


def tables(groups: list[Group]) -> list[Table]:
    """Return RTT and overhead by scenario, the rates held, Table 3, and Tables 4 to 6."""
    found = [_overhead(groups), held_rates(groups), _affinity(groups)]
    found += [_outliers(_of(groups, name), name) for name in TECHNOLOGIES]
    return [table for table in found if table.rows]


def charts(groups: list[Group]) -> list[Chart]:
    """Return the figures for which the dataset has data."""
    found = [_by_vms(groups, "app"), _by_vms(groups, "overhead")]
    found += [_tau(_of(groups, name), name) for name in TECHNOLOGIES]
    return [chart for chart in found if chart is not None]


def _of(groups: list[Group], technology: str) -> list[Group]:
    return of(groups, TECHNOLOGIES[technology])


def _values(group: Group, name: str) -> Floats | None:
    """Return a quantity of all packets of a group."""
    found = run(group, name)
    return None if found is None else whole(found)


def _overhead(groups: list[Group]) -> Table:
    rows: list[Cells] = []
    factors = list(groups[0].factors) if groups else []
    for group in groups:
        user, over = _values(group, RTT), _values(group, OVERHEAD)
        if user is None:
            continue
        low, middle, high = np.quantile(user, (0.25, 0.5, 0.75)).tolist()
        cells = [delay(middle), f"{delay(low)} … {delay(high)}"]
        cells.append("–" if over is None else delay(float(np.median(over))))
        of_rtt = _values(group, OVER_RTT)
        cells.append(share(None if of_rtt is None else float(np.median(of_rtt))))
        rows.append([*(group.factors.get(name, "") for name in factors), str(len(user)), *cells])
    return Table(
        "RTT and virtualisation overhead",
        "Medians. Overhead is the RTT in user space less that at the sender's host interface, "
        "round trip, and its share of the RTT packet by packet. The paper's way from there to the "
        f"responder and back takes {delay(WAY_US)}, so shares compare only over a way like it.",
        [*factors, "n", "RTT", "quartiles", "overhead", "share"],
        rows,
        texts=len(factors),
    )


def _affinity(groups: list[Group]) -> Table:
    rows: list[Cells] = []
    same = alike(_of(groups, "kvm"), "affinity", list(AFFINITY))
    for level, paper in AFFINITY.items():
        found = together(same.get(level, []), OVER_RTT)
        if found is None:
            continue
        values = whole(found)
        quartiles = np.quantile(values, (0, 0.25, 0.5, 0.75, 1)).tolist()
        here = [float(values.mean()), float(values.std(ddof=1)), *quartiles]
        pairs = [(f"{100 * v:.2f} %", f"{p:.2f} %") for v, p in zip(here, paper, strict=True)]
        rows.append([level, str(len(values)), *pairs])
    return Table(
        "Table 3: overhead with CPU affinity and without",
        "Per cent of the RTT, in the scenarios with virtual machines that have both levels; of "
        "each equally many packets. In colour: the paper's.",
        ["affinity", "n", "mean", "SD", "min", "25 %", "median", "75 %", "max"],
        rows,
    )


def _outliers(groups: list[Group], technology: str) -> Table:
    loaded = [
        ({"load": _load(group), "place": group.factors.get("place", "")}, values)
        for group in under_every_load(groups)
        for values in in_blocks([group], RTT).values()
    ]
    scale, found = outlier_shares(loaded, SCENARIOS)
    paper = OUTLIERS.get(technology, {})
    rows: list[Cells] = []
    for each in found:
        there = paper.get((each.levels["load"], each.levels["place"]))
        of_all = share(each.of_all)
        cell = of_all if there is None else (of_all, f"{there:g} %")
        counts = [str(each.n), str(each.outliers)]
        rows.append([each.levels["load"], each.levels["place"], *counts, cell])
    by = "" if scale.usual else f" The scale is the {scale.by}."
    return Table(
        f"Where the outliers are: {NAMES[technology]}",
        f"Further than 3.5 robust standard deviations ({delay(scale.sigma)}) from the median "
        f"({delay(scale.median)}) of the trials with every load at both places, of each "
        f"equally many packets; none is dropped.{by} In colour: the paper's "
        "share.",
        ["load", "place", "n", "outliers", "of all outliers"],
        rows,
        texts=2,
    )


def _load(group: Group) -> str:
    return "network" if group.factors.get("load") == "network" else "other"


def _by_vms(groups: list[Group], name: str) -> Chart | None:
    rows: Rows = []
    for group in groups:
        values = _values(group, name)
        if values is None or float(np.median(values)) <= 0:
            continue
        middle = {"us": float(np.median(values)), "vms": vms(group)}
        names = {
            "environment": group.factors.get("environment", ""),
            "row": f"{label(group, 'rate')}, affinity {label(group, 'affinity')}",
        }
        for load, place in _places(groups, group):
            rows.append({**middle, **names, "load": f"{load}, {place}"})
    loaded = {_panel(row) for row in rows if row["vms"] > 0}
    rows = [row for row in rows if _panel(row) in loaded]
    if not rows:
        return None
    rows = filled(rows, "load", "row")
    numbers = sorted({row["vms"] for row in rows})
    of = f"median {'RTT' if name == 'app' else 'overhead, round trip'} (log)"
    chart = lines(rows, "vms", "background guests", numbers, "environment", of=of)
    what = "RTT" if name == "app" else "Virtualisation overhead"
    return render(
        f"{'rtt' if name == 'app' else 'overhead'}-by-guests",
        f"{what} against the number of background guests",
        f"Median, round trip, by load and place, rate and affinity (figures 4, 7 and 9 to 12 of "
        f"the paper). {'' if name == 'app' else 'Overheads of 0 or less are not drawn.'}",
        grid(chart, rows, "load", "row"),
    )


def _panel(row: Mapping[str, object]) -> tuple[object, ...]:
    return row["load"], row["row"], row["environment"]


def _places(groups: list[Group], group: Group) -> list[tuple[str, str]]:
    """Return the panels that a group belongs to: all of them if it has no background guests."""
    if vms(group) > 0:
        return [(group.factors.get("load", ""), group.factors.get("place", ""))]
    loaded = [g for g in groups if vms(g) > 0]
    pairs = [(g.factors.get("load", ""), g.factors.get("place", "")) for g in loaded]
    return list(dict.fromkeys(pairs))


def _tau(groups: list[Group], technology: str) -> Chart | None:
    rows: Rows = []
    n = 0
    for name, said in ((RTT, "RTT"), (OVERHEAD, "overhead")):
        for found in associations_in(_balanced(groups, name)):
            rows.append(
                {
                    "level": f"{found.factor}: {found.level}",
                    "tau": found.tau,
                    "of": said,
                    "p": found.p,
                }
            )
            n = max(n, found.n)
    if not rows:
        return None
    sure = sum(row["p"] < 0.05 for row in rows)
    chart = (
        alt.Chart(inline(rows))
        .mark_bar()
        .encode(
            y=alt.Y("level:N", title=None, sort=[row["level"] for row in rows]),
            yOffset=alt.YOffset("of:N"),
            x=alt.X("tau:Q", title="Kendall's tau", scale=alt.Scale(domain=[-1, 1])),
            color=alt.Color(
                "of:N",
                title="with",
                scale=alt.Scale(domain=["RTT", "overhead"], range=["#0072B2", "#E69F00"]),
            ),
            opacity=alt.condition(alt.datum.p < 0.05, alt.value(1), alt.value(0.35)),
        )
    )
    return render(
        f"kendall-tau-{technology}",
        f"Which levels go with longer delays: {NAMES[technology]}",
        "Kendall's tau-b of each level (1 or 0) with RTT and overhead (figures 15 to 17 of the "
        f"paper), in scenarios alike but for its factor; up to {n} packets. Pale: p above 0.05 "
        f"after Holm's correction; {sure} of {len(rows)} are below.",
        chart.properties(width=520, height=alt.Step(11)),
    )


def _balanced(groups: list[Group], name: str) -> dict[str, list[Trial]]:
    """Return, for each factor, the series of trials in which no other factor's level goes with it.

    Of each trial equally many packets count.
    """
    by_factor = {
        "environment": alike(groups, "environment", KVM),
        "vms": with_guests_and_without(groups),
        "load": alike(groups, "load", LOADS),
        "place": alike(groups, "place", PLACES),
        "affinity": alike(groups, "affinity", list(AFFINITY)),
        "rate": alike(groups, "rate", RATES),
    }
    return {
        factor: _even([group for level in same.values() for group in level], name)
        for factor, same in by_factor.items()
    }


def _even(groups: list[Group], name: str) -> list[Trial]:
    """Return a quantity of each trial with its levels, of all equally many packets."""
    trials = [(g.factors, values) for g in groups for values in blocks(g, name).values()]
    least = min((len(values) for _, values in trials), default=0)
    return [(levels, thinned(values, least)) for levels, values in trials]
