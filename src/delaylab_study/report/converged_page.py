"""HTML page of events that were watched in a running lab, in the style of the report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from delaylab.api.forwarding import Interval, NodesPassed
from delaylab.api.verdicts import Outcome
from delaylab_study.charts import words
from delaylab_study.charts.convergence import timeline_of_outcomes
from delaylab_study.report import value as v
from delaylab_study.report.templating import page

HEAD = (
    *("event", "detected", "last change", "all right", "black holes", "loops", "lost messages"),
    *("waited for a CPU", "cpu-bound"),
)
NOTE = (
    "Detected: from the event to the first change of a carrier, an adjacency or a table. Last "
    "change: to the last change of a forwarding table. All right: to the change by which every "
    "table had exactly the shortest paths. Black holes and loops: pairs of router and destination, "
    "and the longest. Waited for a CPU: the longest by the daemons of one router, in all. "
    "CPU-bound: that may explain more than a tenth of the time until all was right."
)


WAYS = (
    "A way is the nodes that a packet passes by the tables of all routers, before the event and "
    "once it was over. Of several equally short ways the first by name is listed. Nodes that do "
    "not run are left out. The ways of the fewest nodes come first."
)


def render(lab: str, outcomes: Sequence[Outcome]) -> str:
    """Return the page as HTML that refers to nothing outside itself."""
    sections = [
        v.Section("", [v.Block([*_header(lab, outcomes)], "header")]),
        v.Section("events", [*_events(outcomes)]),
        v.Section("ways", [*_ways(outcomes)]),
    ]
    return page(f"{lab}: convergence", sections)


def _header(lab: str, outcomes: Sequence[Outcome]) -> Iterator[v.Part]:
    first_ns = min((each.event_ns for each in outcomes), default=0)
    began = f"{datetime.fromtimestamp(first_ns / 1e9, UTC):%Y-%m-%d %H:%M:%S} UTC"
    events = "; ".join(each.event for each in outcomes) or "no event"
    count = f"{len(outcomes)} event{'' if len(outcomes) == 1 else 's'}"
    yield v.Line("delaylab", style="brand")
    yield v.Heading(f"{lab}: {events}", 1)
    yield v.Line(f"{count}, the first at {began}")


def _events(outcomes: Sequence[Outcome]) -> Iterator[v.Part]:
    yield v.Heading("How the routers followed", 2)
    if chart := timeline_of_outcomes(outcomes):
        yield v.Charts([chart], titled=False, wide=True)
    yield v.note(NOTE)
    columns = [v.Column(head, "number" if at else "flat") for at, head in enumerate(HEAD)]
    yield v.Table(columns, [cells(each) for each in outcomes])


def _ways(outcomes: Sequence[Outcome]) -> Iterator[v.Part]:
    yield v.Heading("Ways that changed", 2)
    yield v.note(WAYS)
    columns = [v.Column(head, "flat") for head in ("before", "after")]
    for each in outcomes:
        found = each.course.detours
        yield v.Heading(f"{each.event}: {found.changed} of {found.pairs} pairs of nodes")
        if found.shown:
            yield v.Table(columns, [[_way(one.before), _way(one.after)] for one in found.shown])
            if found.changed > len(found.shown):
                yield v.Line(f"{found.changed - len(found.shown)} more are not listed.")


def cells(outcome: Outcome) -> list[str]:
    """Return what followed an event, in the order of the head."""
    last_ns = outcome.effect.changes.last_ns if outcome.effect.changes else None
    waited = "–"
    if outcome.waited is not None:
        waited = f"{words.seconds(outcome.waited.longest_ns / 1e9)} at {outcome.waited.router}"
    return [
        outcome.event,
        _after(outcome, outcome.detected_ns),
        _after(outcome, last_ns),
        _converged(outcome),
        _intervals(outcome.holes),
        _intervals(outcome.loops),
        ", ".join(outcome.lost) or "none",
        waited,
        "yes" if outcome.is_cpu_bound else "no",
    ]


def _converged(outcome: Outcome) -> str:
    """Return when the network had converged, with the rule if that is a quiet time."""
    if outcome.until.quiet_ns is None:
        return str(outcome.verdict) or _after(outcome, outcome.right_ns)
    if outcome.converged_ns is None:
        return "not in time: tables still changed"
    return f"{_after(outcome, outcome.converged_ns)}, until {outcome.until.words}"


def _way(way: NodesPassed | None) -> str:
    """Return the nodes of a way, and how many more ways are as good."""
    if way is None:
        return "no way"
    more = f" (and {way.ways - 1} more)" if way.ways > 1 else ""
    return " → ".join(way.nodes) + more


def _after(outcome: Outcome, at_ns: int | None) -> str:
    seconds = outcome.after_s(at_ns)
    return "–" if seconds is None else words.seconds(seconds)


def _intervals(intervals: Sequence[Interval]) -> str:
    lengths = [each.length_ns for each in intervals if each.length_ns is not None]
    longest = f", {words.seconds(max(lengths) / 1e9)}" if lengths else ""
    return f"{len(intervals)}{longest}" if intervals else "none"
