"""The paper's figures on this dataset, as Vega-Lite charts rendered to SVG."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import altair as alt
import vl_convert

from delaylab.analysis.claims import samples
from delaylab.analysis.curves import ecdf, log_density
from delaylab.analysis.group import Group
from delaylab.analysis.statistics import Floats

# Okabe and Ito's colours, which most colour-blind readers can tell apart.
KINDS = {"native": "#0072B2", "shared": "#009E73", "netns": "#D55E00", "xen": "#CC79A7"}
LOADS = {
    "rest": "#7a8088",
    "cpu": "#E69F00",
    "io": "#56B4E9",
    "disk": "#009E73",
    "memory": "#CC79A7",
    "network": "#D55E00",
}
OTHER = "#0072B2"
INK = "#20242a"


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart as SVG, and the words under it."""

    name: str
    title: str
    caption: str
    svg: str

    @property
    def inline(self) -> str:
        """The SVG with its ink in the page's own colour."""
        return self.svg.replace(INK, "currentColor")


def all_charts(groups: list[Group]) -> list[Chart]:
    """Return the figures that the data carry."""
    found = (network_rtt(groups), load_rtt(groups), directions(groups))
    return [chart for chart in found if chart is not None]


def network_rtt(groups: list[Group]) -> Chart | None:
    """Return figure 3: user and kernel RTT less the wire's, under network load, per kind."""
    rows: list[dict[str, Any]] = []
    for group in (group for group in groups if group.load == "network"):
        for column, stamp in (("total", "user space"), ("ΔKern", "kernel")):
            rows += _ecdf_rows(group, column, {"kind": group.kind, "stamp": stamp})
    if not rows:
        return None
    kinds = _seen(rows, "kind")
    chart = _ecdf(rows).encode(
        color=_colour("kind", kinds, KINDS, "sender"),
        strokeDash=alt.StrokeDash(
            "stamp:N",
            title="stamped in",
            scale=alt.Scale(domain=["user space", "kernel"], range=[[1, 0], [5, 4]]),
        ),
    )
    return _render(
        "rtt-under-network-load",
        "RTT under network load, by where it is stamped",
        "Share of packets whose round-trip time, less the time on the wire and beyond, is at most "
        "x. Where the dashed line lies left of the solid one, the delay is added between user "
        f"space and the kernel's stamp (figure 3 of the paper). {_counts(groups, 'network')}",
        chart.properties(width=860, height=270),
    )


def load_rtt(groups: list[Group]) -> Chart | None:
    """Return figure 4: user RTT less the wire's, per load, one panel per kind."""
    rows: list[dict[str, Any]] = []
    for group in groups:
        rows += _ecdf_rows(group, "total", {"kind": group.kind, "load": group.load})
    if not rows:
        return None
    kinds = _seen(rows, "kind")
    chart = _ecdf(rows).encode(color=_colour("load", _seen(rows, "load"), LOADS, "load"))
    return _render(
        "rtt-per-load",
        "RTT in user space, by load",
        "Share of packets whose round-trip time, less the time on the wire and beyond, is at most "
        f"x (figure 4 of the paper, there for Xen). {_counts(groups)}",
        _facet(chart, kinds),
    )


def directions(groups: list[Group]) -> Chart | None:
    """Return figure 5: densities of the sending and the receiving delay under network load."""
    rows: list[dict[str, Any]] = []
    for group in (group for group in groups if group.load == "network"):
        for direction in ("sending", "receiving"):
            values = samples(group, direction)
            if values is None:
                continue
            for us, density in _pairs(*log_density(values)):
                rows.append({"us": us, "y": density, "kind": group.kind, "direction": direction})
    if not rows:
        return None
    chart = (
        alt.Chart(_inline(rows))
        .mark_area(opacity=0.35, line=True)
        .encode(
            x=_delay_axis(),
            y=alt.Y("y:Q", title="density per decade", stack=None),
            color=_colour(
                "direction",
                ["sending", "receiving"],
                {"sending": "#D55E00", "receiving": "#0072B2"},
                "one-way delay",
            ),
        )
    )
    return _render(
        "sending-and-receiving",
        "Sending and receiving delay under network load",
        "One-way delay from user space to the wire, and from the wire to user space, each as a "
        f"density on a logarithmic axis (figure 5 of the paper). {_counts(groups, 'network')}",
        _facet(chart, _seen(rows, "kind")),
    )


def to_png(svg: str, scale: float = 2) -> bytes:
    """Return an SVG drawing as a PNG on white."""
    white = svg.replace(">", '><rect width="100%" height="100%" fill="#ffffff"/>', 1)
    return bytes(vl_convert.svg_to_png(white, scale=scale))


def _inline(rows: list[dict[str, Any]]) -> alt.Data:
    """Return rows as a chart's own data, which has no limit of rows as a frame's has."""
    return alt.Data(values=rows)  # type: ignore[no-untyped-call]


def _ecdf(rows: list[dict[str, Any]]) -> alt.Chart:
    chart: alt.Chart = (
        alt.Chart(_inline(rows))
        .mark_line(interpolate="step-after", strokeWidth=2)
        .encode(
            x=_delay_axis(),
            y=alt.Y("y:Q", title="share of packets", axis=alt.Axis(format="%", tickCount=5)),
        )
    )
    return chart


def _ecdf_rows(group: Group, column: str, names: dict[str, str]) -> list[dict[str, Any]]:
    values = samples(group, column)
    if values is None:
        return []
    pairs = _pairs(*ecdf(values[values > 0]))
    return [{"us": us, "y": share, **names} for us, share in pairs]


def _pairs(x: Floats, y: Floats) -> Iterable[tuple[float, float]]:
    return zip(x.tolist(), y.tolist(), strict=True)


def _delay_axis() -> alt.X:
    axis = alt.Axis(
        labelExpr="datum.value >= 1000 ? datum.value / 1000 + ' ms' : datum.value + ' µs'",
        values=[10.0**decade for decade in range(-1, 7)],
    )
    return alt.X("us:Q", title="delay (log)", scale=alt.Scale(type="log", nice=False), axis=axis)


def _colour(field: str, seen: list[str], known: dict[str, str], title: str) -> alt.Color:
    colours = [known.get(name, OTHER) for name in seen]
    return alt.Color(f"{field}:N", title=title, scale=alt.Scale(domain=seen, range=colours))


def _facet(chart: alt.Chart, kinds: list[str]) -> alt.FacetChart:
    header = alt.Header(title=None, labelFontSize=13, labelFontWeight=600)
    width = {1: 860, 2: 430, 3: 275}.get(len(kinds), 210)
    return chart.properties(width=width, height=220).facet(
        column=alt.Column("kind:N", header=header, sort=kinds)
    )


def _seen(rows: list[dict[str, Any]], field: str) -> list[str]:
    return list(dict.fromkeys(str(row[field]) for row in rows))


def _counts(groups: list[Group], load: str | None = None) -> str:
    chosen = [group for group in groups if load in (None, group.load) and "app" in group.rtt]
    counts = [group.rtt["app"].n for group in chosen]
    if not counts:
        return ""
    low, high = min(counts), max(counts)
    return f"n = {low} packets a line." if low == high else f"n = {low} to {high} packets a line."


def _render(name: str, title: str, caption: str, chart: alt.Chart | alt.FacetChart) -> Chart:
    axis = {
        "labelColor": INK,
        "titleColor": INK,
        "domainColor": INK,
        "tickColor": INK,
        "gridColor": INK,
        "gridOpacity": 0.12,
        "domainOpacity": 0.5,
        "titleFontWeight": 500,
    }
    legend = {"labelColor": INK, "titleColor": INK, "titleFontWeight": 600, "symbolStrokeWidth": 3}
    finished = (
        chart.configure(background="transparent", font="system-ui, DejaVu Sans, sans-serif")
        .configure_axis(**axis, labelFontSize=11, titleFontSize=12)
        .configure_legend(**legend, labelFontSize=12, titleFontSize=12)
        .configure_header(labelColor=INK)
        .configure_view(stroke=None)
    )
    return Chart(name, title, caption, vl_convert.vegalite_to_svg(finished.to_dict()))
