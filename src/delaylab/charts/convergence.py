"""Chart of an event in a network with routing daemons: routers over time, by their state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from delaylab.analysis.convergence.recorded import SeenEvent, SeenTrial
from delaylab.analysis.group import Group
from delaylab.charts.lazy import alt
from delaylab.charts.vega import Chart, Rows, inline, render

PANELS = 8
"""The largest number of events that are drawn: of each combination those of one trial."""
WIDTH = 430
NAMED = 24
"""The largest number of routers whose names are printed beside their rows."""
ROW, THIN_ROW = 13, 3
"""The height of a router's row in px, with its name and without."""
BEYOND = 1.15
"""The time that is drawn after the last change, as a factor."""
SHORTEST_S = 0.02
RIGHT, WRONG, LOOPING, OFF = "right", "wrong", "looping", "not running"
COLOURS = {RIGHT: "#B9E0CF", WRONG: "#D55E00", LOOPING: "#6A3D9A", OFF: "#C9CDD2"}
CAPTION = (
    "A row is a router, in the order in which they were first wrong. Green: its forwarding table "
    "had exactly the shortest paths of the network as it then was. Orange: some route was wrong. "
    "Violet: packets could go around it, by the tables of all routers. Grey: it was stopped or "
    "killed. A dashed line is the first change of an adjacency, a solid one the time from which "
    "all tables were right."
)


@dataclass(frozen=True)
class Drawn:
    """An event to draw, with the title of its panel."""

    title: str
    trial: SeenTrial
    event: SeenEvent


def timeline_of_events(groups: list[Group]) -> Chart | None:
    """Return the chart of the events of the first trial of each group; None without events."""
    drawn = [
        Drawn(f"{group.label_of(trial.trial)}: {event.record.words}", trial, event)
        for group in groups
        for trial in group.convergence[:1]
        for event in trial.events
    ]
    return chart_of(drawn)


def chart_of(drawn: Sequence[Drawn]) -> Chart | None:
    """Return the chart of events, the first `PANELS` of them; None if there are none."""
    panels = [panel for each in drawn[:PANELS] if (panel := _panel(each)) is not None]
    if not panels:
        return None
    more = len(drawn) - PANELS
    said = (
        f" {PANELS} of {len(drawn)} events, those of the first trial of each." if more > 0 else ""
    )
    whole = alt.concat(*panels, columns=2 if len(panels) > 1 else 1, spacing=26)
    return render(
        "convergence",
        "Routers after each event",
        CAPTION + said,
        whole.resolve_scale(x="independent"),
    )


def _panel(each: Drawn) -> alt.LayerChart | alt.FacetChart | None:
    end_s = _end_s(each.event)
    rows = list(_rows(each, end_s))
    if not rows:
        return None
    order = _in_order(rows)
    few = len(order) <= NAMED
    y = alt.Y(
        "router:N",
        sort=order,
        title=None if few else f"{len(order)} routers",
        axis=alt.Axis(labels=few, ticks=False, domain=False, labelLimit=110),
    )
    x = alt.X("begin:Q", title="s after the event", scale=alt.Scale(domain=[0, end_s], nice=False))
    scale = alt.Scale(domain=list(COLOURS), range=list(COLOURS.values()))
    bars = (
        alt.Chart(inline(rows))
        .mark_bar(height={"band": 0.82} if few else {"band": 1})
        .encode(x=x, x2="end:Q", y=y, color=alt.Color("state:N", title=None, scale=scale))
    )
    layers = [bars, *_lines(each.event)]
    height = len(order) * (ROW if few else THIN_ROW)
    return alt.layer(*layers).properties(width=WIDTH, height=height, title=_short(each.title))


def _short(title: str) -> str:
    return title if len(title) <= 70 else title[:69] + "…"


def _end_s(event: SeenEvent) -> float:
    """Return the time after the event that is drawn: until the last change, and a little more."""
    known = (event.right_s, event.last_change_s, event.detected_s)
    last = max((each for each in known if each is not None), default=0.0)
    whole = event.after_s(event.record.until_ns) or SHORTEST_S
    if event.right_s is None:
        return max(whole, SHORTEST_S)
    return min(max(last * BEYOND, SHORTEST_S), max(whole, SHORTEST_S))


def _rows(each: Drawn, end_s: float) -> Iterator[dict[str, object]]:
    """Yield a bar for each router that was right all the time, and those over it."""
    offset_s = each.event.after_s(each.trial.events[0].record.event_ns) or 0.0
    found: Rows = []
    for state in each.trial.states:
        begin, end = max(0.0, state.begin_s + offset_s), min(end_s, state.end_s + offset_s)
        if end > begin:
            found.append({"router": state.router, "begin": begin, "end": end, "state": state.state})
    off = _off(each)
    for router in sorted({*each.trial.routers, *off}):
        whole = OFF if router in off else RIGHT
        yield {"router": router, "begin": 0.0, "end": end_s, "state": whole}
    yield from sorted(found, key=lambda row: row["state"] == LOOPING)


def _off(each: Drawn) -> set[str]:
    """Return the nodes that do not run after an event, by all events until then."""
    off: set[str] = set()
    for event in each.trial.events:
        for part in event.record.parts:
            if part.programs:
                continue
            if part.did in ("stop", "kill"):
                off |= set(part.names)
            elif part.did == "start":
                off -= set(part.names)
        if event is each.event:
            break
    return off


def _in_order(rows: list[dict[str, object]]) -> list[str]:
    """Return the routers by the time when they were first wrong, the others last."""
    first: dict[str, float] = {}
    for row in rows:
        if row["state"] not in (RIGHT, OFF):
            router, begin = str(row["router"]), float(str(row["begin"]))
            first[router] = min(first.get(router, begin), begin)
    every = dict.fromkeys(str(row["router"]) for row in rows)
    return sorted(every, key=lambda router: (first.get(router, float("inf")), router))


def _lines(event: SeenEvent) -> Iterator[alt.Chart]:
    """Yield the lines of detection and of the time from which all was right."""
    for at_s, dash in ((event.detected_s, [4, 3]), (event.right_s, [1, 0])):
        if at_s is not None:
            yield (
                alt.Chart(inline([{"at": at_s}]))
                .mark_rule(strokeDash=dash, color="#20242a", strokeWidth=1)
                .encode(x="at:Q")
            )
