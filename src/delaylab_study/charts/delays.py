"""Figures of the delays of any study with a probe, as Vega-Lite charts rendered to SVG."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from delaylab_study.analysis.claims.groups import loads, samples, setups
from delaylab_study.analysis.group import Group
from delaylab_study.analysis.packets.rtt import LINK
from delaylab_study.analysis.statistics.curves import ecdf, log_density
from delaylab_study.analysis.statistics.quantiles import Floats
from delaylab_study.charts.lazy import alt
from delaylab_study.charts.vega import (
    LOADS,
    Chart,
    Rows,
    colour,
    delay_axis,
    inline,
    render,
    seen,
    setup_colours,
)

# Largest number of panels in a row.
ROW = 4


EMULATED = "Virtual machines were emulated in software (TCG): their delays are an emulator's."
EMULATED_LINK = "The delay of an emulated link, as configured, is part of what is drawn."
NO_PAPER: Mapping[str, str] = {}


def all_charts(groups: list[Group], papers: Mapping[str, str] = NO_PAPER) -> list[Chart]:
    """Return the figures for which the dataset has data.

    `papers` names the figure of a paper that a chart, by its name, is drawn after. The user RTT
    itself is drawn for studies without a paper: papers have their own figures.
    """
    whole = None if papers else user_rtt(groups)
    found = (whole, network_rtt(groups), load_rtt(groups), directions(groups))
    emulated = [EMULATED] if any(group.emulated for group in groups) else []
    emulated += [EMULATED_LINK] if any(LINK in group.deltas for group in groups) else []
    return [_told(chart, papers, emulated) for chart in found if chart is not None]


def _told(chart: Chart, papers: Mapping[str, str], emulated: list[str]) -> Chart:
    """Return a chart whose caption says what was emulated, and names a paper's figure."""
    more = [f"Drawn after {papers[chart.name]}."] if chart.name in papers else []
    more += emulated
    return replace(chart, caption=" ".join([chart.caption, *more]))


def user_rtt(groups: list[Group]) -> Chart | None:
    """Return the user RTT itself, per load, one panel per setup."""
    rows: Rows = []
    for setup, load, group in zip(setups(groups), loads(groups), groups, strict=True):
        rows += _ecdf_rows(group, "app", {"setup": setup, "load": load})
    if not rows:
        return None
    chart = _ecdf(rows, "user RTT, round trip (log)").encode(
        color=colour("load", seen(rows, "load"), LOADS, "load")
    )
    return render(
        "user-rtt",
        "User RTT, by load",
        "Share of packets for which the user RTT, round trip, is at most x: the whole of it, from "
        f"the sender's user space to the responder and back. {_counts(groups)}",
        _facet(chart, seen(rows, "setup")),
    )


def network_rtt(groups: list[Group]) -> Chart | None:
    """Return user and kernel RTT less the wire's, under network load, per setup."""
    rows: Rows = []
    for setup, group in _under(groups, "network"):
        for column, stamp in (("total", "user space"), ("ΔKern", "kernel")):
            rows += _ecdf_rows(group, column, {"setup": setup, "stamp": stamp})
    if not rows:
        return None
    names = seen(rows, "setup")
    chart = _ecdf(rows).encode(
        color=colour("setup", names, setup_colours(names), "sender"),
        strokeDash=alt.StrokeDash(
            "stamp:N",
            title="stamped in",
            scale=alt.Scale(domain=["user space", "kernel"], range=[[1, 0], [5, 4]]),
        ),
    )
    return render(
        "rtt-under-network-load",
        "User and kernel RTT less wire RTT, under network load",
        "Share of packets for which the RTT (in user space, in the kernel) less the RTT at the "
        "wire is at most x: what the sender's side adds, round trip. Where "
        "the dashed line lies left of the solid one, the delay is added between user "
        f"space and the kernel's stamp. {_counts(groups, 'network')}",
        chart.properties(width=860, height=270),
    )


def load_rtt(groups: list[Group]) -> Chart | None:
    """Return user RTT less the wire's, per load, one panel per setup."""
    rows: Rows = []
    for setup, load, group in zip(setups(groups), loads(groups), groups, strict=True):
        rows += _ecdf_rows(group, "total", {"setup": setup, "load": load})
    if not rows:
        return None
    names = seen(rows, "setup")
    chart = _ecdf(rows).encode(color=colour("load", seen(rows, "load"), LOADS, "load"))
    return render(
        "rtt-per-load",
        "User RTT less wire RTT, by load",
        "Share of packets for which the user RTT less the RTT at the wire is at most x: what the "
        f"sender's side adds, round trip. {_counts(groups)}",
        _facet(chart, names),
    )


def directions(groups: list[Group]) -> Chart | None:
    """Return densities of the sending and the receiving delay under network load."""
    rows: Rows = []
    for setup, group in _under(groups, "network"):
        for direction in ("sending", "receiving"):
            values = samples(group, direction)
            if values is None:
                continue
            for us, density in _pairs(*log_density(values)):
                rows.append({"us": us, "y": density, "setup": setup, "direction": direction})
    if not rows:
        return None
    chart = (
        alt.Chart(inline(rows))
        .mark_area(opacity=0.35, line=True)
        .encode(
            x=delay_axis("one-way delay (log)", rows),
            y=alt.Y("y:Q", title="density per decade", stack=None),
            color=colour(
                "direction",
                ["sending", "receiving"],
                {"sending": "#D55E00", "receiving": "#0072B2"},
                "one-way delay",
            ),
        )
    )
    return render(
        "sending-and-receiving",
        "One-way delay under network load: sending and receiving",
        "One-way delay from user space to the wire, and from the wire to user space, each as a "
        f"density on a logarithmic axis. {_counts(groups, 'network')}",
        _facet(chart, seen(rows, "setup")),
    )


def _ecdf(rows: Rows, title: str = "RTT less wire RTT (log)") -> alt.Chart:
    chart: alt.Chart = (
        alt.Chart(inline(rows))
        .mark_line(interpolate="step-after", strokeWidth=2)
        .encode(
            x=delay_axis(title, rows),
            y=alt.Y("y:Q", title="share of packets", axis=alt.Axis(format="%", tickCount=5)),
        )
    )
    return chart


def _ecdf_rows(group: Group, column: str, names: dict[str, str]) -> Rows:
    values = samples(group, column)
    if values is None:
        return []
    pairs = _pairs(*ecdf(values[values > 0]))
    return [{"us": us, "y": share, **names} for us, share in pairs]


def _pairs(x: Floats, y: Floats) -> Iterable[tuple[float, float]]:
    return zip(x.tolist(), y.tolist(), strict=True)


def _under(groups: list[Group], load: str) -> list[tuple[str, Group]]:
    """Return the groups under one load, each with its setup."""
    named = zip(setups(groups), groups, strict=True)
    return [(setup, group) for setup, group in named if group.load == load]


def _facet(chart: alt.Chart, names: list[str]) -> alt.FacetChart:
    header = alt.Header(title=None, labelFontSize=13, labelFontWeight=600)
    width = {1: 860, 2: 430, 3: 275}.get(len(names), 210)
    facet = alt.Facet("setup:N", header=header, sort=names)
    return chart.properties(width=width, height=220).facet(facet=facet, columns=ROW)


def _counts(groups: list[Group], load: str | None = None) -> str:
    chosen = [group for group in groups if load in (None, group.load) and "app" in group.rtt]
    counts = [group.rtt["app"].n for group in chosen]
    if not counts:
        return ""
    low, high = min(counts), max(counts)
    return f"n = {low} packets a line." if low == high else f"n = {low} to {high} packets a line."
