"""Events of a network with routing daemons: when it forwarded rightly again, and meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite

import numpy as np

from delaylab.api.files import JsonObject
from delaylab.api.forwarding import Interval, quiet_words
from delaylab_study.analysis.convergence.recorded import SeenEvent
from delaylab_study.analysis.convergence.times import median_of, times_of
from delaylab_study.analysis.group import Group
from delaylab_study.charts.convergence import timeline_of_events
from delaylab_study.charts.event_times import times_along
from delaylab_study.dataset.records.trial import TrialRecord
from delaylab_study.report import value as v
from delaylab_study.report import written
from delaylab_study.report.sections.section import Report

HEADING = v.Heading("Events, and how the routers followed", 2)

NOTE = (
    "Medians over the trials, from three trials on with Student's 95 % interval. Detected: from "
    "the event to another router's first change of an adjacency. Last change: to the last change "
    "of a forwarding table before the next event. All right: to the change by which every table "
    "had exactly the shortest paths; in brackets the number of trials in which that was so before "
    "the next event, if it was not so in all. Outage: the longest black hole or loop of a trial. "
    "Black holes and loops: pairs of router and destination, also those from before the event, and "
    "the longest. Late: the most by which an event happened after its time. Bound by CPUs: trials "
    "in which waiting for CPUs, or a hypervisor, may explain more than a tenth of the time."
)
QUIET_NOTE = (
    " Where it is not known which tables are right, *all right* is instead the time to the last "
    "change before a quiet time, which is named: it is no time of the other kind."
)
COLUMNS = (
    *(v.Column(head, "flat", key=head) for head in ("trials", "event")),
    v.Column("n"),
    *map(v.Column, ("detected", "last change", "all right", "outage", "black holes", "loops")),
    *map(v.Column, ("late", "bound by CPUs")),
)


def section(report: Report) -> v.Section:
    """Return the chart of routers over time, the table of events, and what failed of them."""
    rows = [
        _row(group, [trial.events[number] for trial in group.convergence], number)
        for group in report.groups
        if group.convergence
        for number in range(min(len(trial.events) for trial in group.convergence))
    ]
    lines = [*_notes(report.groups)]
    parts: list[v.Part] = [v.Line(line, "open", on=v.TERMINAL) for line in lines]
    if not rows:
        return v.Section("events", parts)
    quiet = any(event.record.quiet_ns for group in report.groups for event in group.events)
    note = NOTE + QUIET_NOTE if quiet else NOTE
    table = v.Table(COLUMNS, rows, "Events", note, key="events")
    said = [v.Line(f"{line}.", on=v.PAGE) for line in lines]
    return v.Section(
        "events",
        [HEADING, v.Lazy(lambda _: _chart(report), on=v.PAGE), v.note(note), table, *parts, *said],
    )


def _chart(report: Report) -> Iterator[v.Charts]:
    along = times_along(report.study.record.factors, report.groups)
    if along:
        yield v.Charts(along)
    if (chart := timeline_of_events(report.groups)) is not None:
        yield v.Charts([chart], wide=True)


def trial_json(trial: TrialRecord, group: Group | None) -> JsonObject:
    """Return what followed each event of the trial, if it has any; times in s after it."""
    found = [event for event in (group.events if group else []) if event.trial == trial.id]
    return {"events": [_json(event) for event in found]} if found else {}


def _notes(groups: list[Group]) -> Iterator[str]:
    """Yield what failed of events, which routes stayed wrong, and whose messages were lost."""
    for group in groups:
        for event in group.events:
            where = f"{group.label_of(event.trial)}, {event.record.words}"
            yield from (f"{where}: {part.failed}" for part in event.record.parts if part.failed)
            if event.record.unforeseen:
                yield f"{where}: which tables are right is not known: {event.record.unforeseen}"
            elif event.record.wrong:
                yield f"{where}: not in time: {event.record.wrong}"
            if event.lost:
                yield f"{where}: messages were lost of {', '.join(event.lost)}"


def _row(group: Group, events: list[SeenEvent], number: int) -> v.Row:
    late_s = max(each.record.late_ns for each in events) / 1e9
    return [
        group.label,
        events[0].record.words,
        v.Value("n", len(events)),
        _median(group, number, "detected", "detected_s"),
        _median(group, number, "last change", "last_change_s"),
        _converged(group, events, number),
        _outage(group, number),
        _intervals("black_holes", [one for each in events for one in each.holes], len(events)),
        _intervals("loops", [one for each in events for one in each.loops], len(events)),
        v.Value("late_s", late_s, "s"),
        (
            v.Value("cpu_bound_n", sum(each.is_cpu_bound for each in events)),
            " of ",
            v.Value("n", len(events)),
        ),
    ]


def _converged(group: Group, events: list[SeenEvent], number: int) -> v.Words:
    """Return when the network had converged; medians are of events of one rule alone."""
    rules = sorted({each.record.quiet_ns or 0 for each in events})
    words: list[str | v.Value] = []
    for quiet_ns in rules:
        same = [each for each in events if (each.record.quiet_ns or 0) == quiet_ns]
        known = sum(each.by_rule_s is not None for each in same)
        name = "quiet" if quiet_ns else "right"
        rule = f", {quiet_words(quiet_ns)}" if quiet_ns else ""
        count = v.Value(f"{name}_n", known)
        n = v.Value("n" if len(rules) == 1 else f"{name}_of", len(same))
        words += ["; "] if words else []
        words += [_median(group, number, name, f"{name}_s")]
        if known < len(same):
            words += [" (", count, " of ", n, rule + ")"]
        else:
            words += [f" ({rule[2:]})" if rule else "", *v.unseen(count)]
            words += [] if len(rules) == 1 else [*v.unseen(n)]
    return tuple(words)


def _median(group: Group, number: int, name: str, key: str) -> v.Value:
    """Return the median of a time after an event over the trials, with its interval."""
    found = times_of(group.convergence, number, name)
    if not found:
        return v.Value(key, None, "s", v.UNKNOWN)
    effect = median_of(np.array([*found.values()]))
    ends = effect.interval if isfinite(effect.interval[0]) else v.UNKNOWN
    return v.Value(key, effect.value, "s", ends, how=written.seconds_between)


def _outage(group: Group, number: int) -> v.Words:
    """Return the median of the outages; *none* if no trial had one."""
    found = _median(group, number, "outage", "outage_s")
    had_none = found.value == 0 and not any(times_of(group.convergence, number, "outage").values())
    return ("none", *v.unseen(found)) if had_none else (found,)


def _intervals(key: str, found: list[Interval], trials: int) -> v.Words:
    """Return how many there were in a trial, on average, and how long the longest was."""
    lengths = [each.length_ns for each in found if each.length_ns is not None]
    count = v.Value(key, len(found) / trials, how=written.mean_count)
    longest = v.Value(f"{key}_longest_s", max(lengths) / 1e9 if lengths else None, "s")
    return (count, *((", ", longest) if lengths else v.unseen(longest)))


def _json(event: SeenEvent) -> JsonObject:
    record, effect = event.record, event.effect
    first_ns = None if effect.changes is None else effect.changes.first_ns
    return {
        "event": record.words,
        "event_ns": record.event_ns,
        "late_s": record.late_ns / 1e9,
        "failed": [part.failed for part in record.parts if part.failed],
        "seen_s": event.after_s(event.seen_ns),
        "detected_s": event.detected_s,
        "first_change_s": event.after_s(first_ns),
        "last_change_s": event.last_change_s,
        "until": _until(event),
        "converged_s": event.by_rule_s,
        "right_s": event.right_s,
        "wrong": record.wrong,
        "unforeseen": record.unforeseen,
        "changes": effect.changes.count if effect.changes else 0,
        "routers": {
            router: {
                "first_s": event.after_s(span.first_ns),
                "last_s": event.after_s(span.last_ns),
                "changes": span.count,
            }
            for router, span in effect.routers.items()
        },
        "black_holes": [_interval(event, each) for each in event.holes],
        "loops": [_interval(event, each) for each in event.loops],
        "lost": list(event.lost),
        "waited": None if record.waited is None else record.waited.model_dump(mode="json"),
        "held_up": event.held_up,
        "cpu_bound": event.is_cpu_bound,
    }


def _until(event: SeenEvent) -> JsonObject:
    quiet_ns = event.record.quiet_ns
    return {"rule": "quiet", "quiet_s": quiet_ns / 1e9} if quiet_ns else {"rule": "right"}


def _interval(event: SeenEvent, each: Interval) -> JsonObject:
    return {
        "destination": each.destination,
        "nodes": sorted(each.nodes),
        "begin_s": event.after_s(each.begin_ns),
        "end_s": event.after_s(each.end_ns),
        "is_exact": each.is_exact,
    }
