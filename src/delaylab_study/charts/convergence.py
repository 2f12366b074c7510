"""Chart of an event in a network with routing daemons: routers over time, by their state."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from delaylab.api.verdicts import Outcome, RouterState
from delaylab_study.analysis.convergence.recorded import SeenEvent, SeenTrial
from delaylab_study.analysis.group import Group
from delaylab_study.charts.lazy import alt
from delaylab_study.charts.vega import Chart, Rows, inline, render

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
    "killed. A dashed line is the first change of {detected}, a solid one the time from which "
    "all tables were right."
)
QUIET = (
    " Of events whose right tables are not known, green says only that no packet went in circles "
    "there, and the solid line is the last change before a quiet time."
)


@dataclass(frozen=True, kw_only=True)
class DrawnEvent:
    """An event to draw, with the title of its panel; all times are in s after it.

    `off` are the nodes that do not run, `states` the times in which routers were not right.
    """

    title: str
    routers: Collection[str]
    off: Collection[str]
    states: Sequence[RouterState]
    detected_s: float | None
    last_change_s: float | None
    converged_s: float | None
    until_s: float
    by_quiet: bool


def timeline_of_events(groups: list[Group]) -> Chart | None:
    """Return the chart of the events of the first trial of each group; None without events."""
    drawn = [
        _of_trial(f"{group.label_of(trial.trial)}: {event.record.words}", trial, event)
        for group in groups
        for trial in group.convergence[:1]
        for event in trial.events
    ]
    return _chart(drawn, "an adjacency", "those of the first trial of each")


def timeline_of_outcomes(outcomes: Sequence[Outcome]) -> Chart | None:
    """Return the chart of events that were watched as they happened; None if there were none."""
    drawn = [_of_outcome(each) for each in outcomes]
    return _chart(drawn, "a carrier, an adjacency or a table", "the first ones")


def _of_trial(title: str, trial: SeenTrial, event: SeenEvent) -> DrawnEvent:
    offset_s = event.after_s(trial.events[0].record.event_ns) or 0.0
    states = [
        replace(state, begin_s=state.begin_s + offset_s, end_s=state.end_s + offset_s)
        for state in trial.states
    ]
    return DrawnEvent(
        title=title,
        routers=trial.routers,
        off=_off(trial, event),
        states=states,
        detected_s=event.detected_s,
        last_change_s=event.last_change_s,
        converged_s=event.by_rule_s,
        until_s=event.after_s(event.record.until_ns) or 0.0,
        by_quiet=event.record.quiet_ns is not None,
    )


def _of_outcome(outcome: Outcome) -> DrawnEvent:
    last_ns = outcome.effect.changes.last_ns if outcome.effect.changes else None
    return DrawnEvent(
        title=outcome.event,
        routers=outcome.course.routers,
        off=outcome.course.off,
        states=outcome.course.states,
        detected_s=outcome.after_s(outcome.detected_ns),
        last_change_s=outcome.after_s(last_ns),
        converged_s=outcome.after_s(outcome.converged_ns),
        until_s=outcome.after_s(outcome.course.until_ns) or 0.0,
        by_quiet=outcome.until.quiet_ns is not None,
    )


def _chart(drawn: Sequence[DrawnEvent], detected: str, which: str) -> Chart | None:
    """Return the chart of the first `PANELS` events; None if there are none."""
    panels = [panel for each in drawn[:PANELS] if (panel := _panel(each)) is not None]
    if not panels:
        return None
    more = len(drawn) - PANELS
    quiet = QUIET if any(each.by_quiet for each in drawn[:PANELS]) else ""
    said = f" {PANELS} of {len(drawn)} events, {which}." if more > 0 else ""
    whole = alt.concat(*panels, columns=2 if len(panels) > 1 else 1, spacing=26)
    return render(
        "convergence",
        "Routers after each event",
        CAPTION.format(detected=detected) + quiet + said,
        whole.resolve_scale(x="independent"),
    )


def _panel(event: DrawnEvent) -> alt.LayerChart | alt.FacetChart | None:
    end_s = _end_s(event)
    rows = list(_rows(event, end_s))
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
    layers = [bars, *_lines(event)]
    height = len(order) * (ROW if few else THIN_ROW)
    return alt.layer(*layers).properties(width=WIDTH, height=height, title=_short(event.title))


def _short(title: str) -> str:
    return title if len(title) <= 70 else title[:69] + "…"


def _end_s(event: DrawnEvent) -> float:
    """Return the time after the event that is drawn: until the last change, and a little more."""
    known = (event.converged_s, event.last_change_s, event.detected_s)
    last = max((at_s for at_s in known if at_s is not None), default=0.0)
    whole = max(event.until_s, SHORTEST_S)
    if event.converged_s is None:
        return whole
    return min(max(last * BEYOND, SHORTEST_S), whole)


def _rows(event: DrawnEvent, end_s: float) -> Iterator[dict[str, object]]:
    """Yield a bar for each router that was right all the time, and those over it."""
    found: Rows = []
    for state in event.states:
        begin, end = max(0.0, state.begin_s), min(end_s, state.end_s)
        if end > begin:
            found.append({"router": state.router, "begin": begin, "end": end, "state": state.state})
    for router in sorted({*event.routers, *event.off}):
        whole = OFF if router in event.off else RIGHT
        yield {"router": router, "begin": 0.0, "end": end_s, "state": whole}
    yield from sorted(found, key=lambda row: row["state"] == LOOPING)


def _off(trial: SeenTrial, until: SeenEvent) -> set[str]:
    """Return the nodes that do not run after an event, by all events until then."""
    off: set[str] = set()
    for event in trial.events:
        for part in event.record.parts:
            if part.programs:
                continue
            if part.did in ("stop", "kill"):
                off |= set(part.names)
            elif part.did == "start":
                off -= set(part.names)
        if event is until:
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


def _lines(event: DrawnEvent) -> Iterator[alt.Chart]:
    """Yield the lines of detection and of the time from which all was right."""
    for at_s, dash in ((event.detected_s, [4, 3]), (event.converged_s, [1, 0])):
        if at_s is not None:
            yield (
                alt.Chart(inline([{"at": at_s}]))
                .mark_rule(strokeDash=dash, color="#20242a", strokeWidth=1)
                .encode(x="at:Q")
            )
