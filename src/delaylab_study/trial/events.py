"""The events of a trial: the lab's timeline, and its routers' tables watched until they are right.

A trial begins with right tables, and its part under load ends once they are right again after the
last event. Where it is not known what is right, the tables are quiet instead.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import polars as pl

from delaylab.api.agents import Loop, Watched
from delaylab.api.errors import DelaylabError
from delaylab.api.forwarding import Change, Faults, Until, Verified, expected_tables
from delaylab.api.lab import Step
from delaylab.api.plans import (
    judged_routes,
    noticed_ns,
    patience_ns,
    topology,
    until_of,
    until_with,
)
from delaylab.api.running import (
    Happened,
    LiveLab,
    Observer,
    Timeline,
    adjacencies,
    await_converged,
    begin_timeline,
    faults,
    faults_after,
    observing,
    print_adjacencies,
    restore_timeline,
    timeline_at_rest,
    waits,
)
from delaylab.api.timeline import HappeningSpec
from delaylab_study.dataset.records.events import EventRecord
from delaylab_study.dataset.records.tables import TABLES
from delaylab_study.trial.event_records import event_records, moments
from delaylab_study.trial.event_tables import RightTables, Seen, replayed, tables_of

STEP_S = 0.2
"""Seconds that are waited for changes before the time is looked at."""
SECOND_NS = 10**9
QUIET_S = 1.0
"""Seconds without a change after which all changes of an event are taken to have come."""


@dataclass
class Events:
    """Records of a trial's events, and the tables of the dataset."""

    records: list[EventRecord] = field(default_factory=list)
    tables: dict[str, pl.DataFrame] = field(default_factory=dict)


def prepare(lab: LiveLab) -> None:
    """Undo the events of the trial before, and wait until the routers forward rightly again."""
    timeline_at_rest(lab)
    restore_timeline(lab)
    await_converged(lab)
    print_adjacencies(lab)


class RunningEvents:
    """The events of a trial under way. `begin` starts the timeline, `wait` waits for its end."""

    def __init__(self, lab: LiveLab, at_first: _AtFirst | None) -> None:
        self._lab, self._at_first = lab, at_first
        self._timeline: Timeline | None = None
        self._watch: _Watch | None = None

    def begin(self) -> None:
        """Begin the lab's timeline."""
        self._timeline = begin_timeline(self._lab)
        if self._at_first is not None:
            self._watch = _Watch(self._lab, self._at_first, self._timeline)
            self._watch.start()

    def stop(self) -> None:
        """Watch no more."""
        if self._watch is not None:
            self._watch.stop()

    def wait(self, others: Sequence[Watched]) -> None:
        """Wait until all events have happened and the tables are right, or cannot become so.

        Raises DelaylabError if one of the other sessions fails meanwhile.
        """
        if self._timeline is None or not _has_events(self._timeline):
            return
        loop = Loop()
        for each in others:
            loop.add(each, each.check)
        if self._watch is None:
            last_ns = max(self._timeline.planned_ns(step) for step in self._timeline.steps)
            loop.run(lambda: time.time_ns() > last_ns, time.monotonic() + _until_s(last_ns))
            return
        while self._watch.is_alive():
            loop.run(lambda: False, time.monotonic() + STEP_S)
        self._watch.check()

    def recorded(self) -> Events:
        """Return what happened, once `wait` has returned."""
        if self._timeline is None:
            return Events()
        happened = self._timeline.happened() if _has_events(self._timeline) else []
        if self._watch is None:
            found = moments(self._lab.spec, happened, time.time_ns())
            return Events(event_records(self._lab.spec, found, happened, {}, {}))
        return self._watch.recorded(happened)


@contextmanager
def running(lab: LiveLab) -> Iterator[RunningEvents]:
    """Prepare a trial's events; `begin` starts them. Tables of a lab with daemons are watched."""
    if not lab.spec.has_daemons:
        yield RunningEvents(lab, None)
        return
    with observing(lab) as observer:
        found = RunningEvents(lab, _at_first(lab, observer))
        try:
            yield found
        finally:
            found.stop()


def _has_events(timeline: Timeline) -> bool:
    return any(step.events for step in timeline.steps)


def _until_s(at_ns: int) -> float:
    """Return the seconds until a time in ns since 1970, and a little more."""
    return max(0.0, (at_ns - time.time_ns()) / 1e9) + STEP_S


@dataclass(frozen=True)
class _AtFirst:
    """The routers before the first event: their faults, what they had, and their waits for CPUs."""

    observer: Observer
    faults: Faults
    seen: Seen
    waits: dict[str, int]


def _at_first(lab: LiveLab, observer: Observer) -> _AtFirst:
    now = faults(lab)
    seen = Seen(
        {node: dict(table) for node, table in observer.tables.items()},
        {end for end, link in observer.links.items() if not link.up},
        now.silent,
    )
    return _AtFirst(observer, now, seen, waits(lab))


class _Watch(threading.Thread):
    """A thread that records table changes while packets are sent.

    The main thread waits for other sessions meanwhile; each session has one thread.
    """

    def __init__(self, lab: LiveLab, at_first: _AtFirst, timeline: Timeline) -> None:
        super().__init__(name="events", daemon=True)
        self._lab, self._timeline = lab, timeline
        self._observer, self._at_first = at_first.observer, at_first.seen
        self._moments = moments(lab.spec, [self._planned(step) for step in timeline.steps], None)
        self._topology, self._until = topology(lab.spec, lab.plan), until_of(lab.spec)
        self._judged = judged_routes(lab.spec, lab.plan)
        self._wanted = [
            self._right_tables(now)
            for now in (at_first.faults, *(faults_after(step) for step in timeline.steps))
        ]
        self._changes: list[Change] = []
        self._waits = [at_first.waits]
        self._ended = threading.Event()
        self._error: DelaylabError | None = None
        self._until_ns = 0

    def stop(self) -> None:
        """End the thread."""
        self._ended.set()
        if self.is_alive():
            self.join()

    def check(self) -> None:
        """Raise the error that ended the thread, if one did."""
        if self._error is not None:
            raise self._error

    def run(self) -> None:
        """Follow the tables until all events have happened and all is right."""
        try:
            self._follow()
        except DelaylabError as error:
            self._error = error

    def recorded(self, happened: list[Happened]) -> Events:
        """Return what was seen, given how each step happened."""
        self.stop()
        self.check()
        rest, _ = self._observer.stop()
        self._changes = sorted([*self._changes, *rest], key=lambda change: change.at_ns)
        self._until_ns = self._until_ns or time.time_ns()
        found = moments(self._lab.spec, happened, self._until_ns)
        boundaries = [each.planned_ns for each in happened]
        ended, wrong = replayed(
            self._at_first.tables, self._changes, self._wanted, boundaries, self._judged
        )
        spent = dict(enumerate(zip(self._waits, self._waits[1:], strict=False)))
        records = event_records(self._lab.spec, found, happened, dict(enumerate(ended)), spent)
        heard = [each for each in adjacencies(self._lab) if each[0] >= self._timeline.began_ns]
        tables = tables_of(self._lab, self._at_first, self._changes, heard, happened)
        rows = pl.DataFrame(wrong, schema=dict(TABLES["wrong"]), orient="row")
        return Events(records, {**tables, "wrong": rows})

    def _planned(self, step: Step) -> Happened:
        return Happened(step, self._timeline.planned_ns(step), None, None)

    def _right_tables(self, now: Faults) -> RightTables:
        until = self._until
        if until.quiet_ns is None:
            until = until_with(self._lab.spec, self._topology, now)
        if until.quiet_ns is not None:
            return RightTables({}, until)
        return RightTables(expected_tables(self._topology, now), Until())

    def _quiet_s(self, passed: int) -> float:
        """Return the time without a change after which the tables are at rest.

        `passed` steps of the timeline have happened.
        """
        quiet_ns = self._wanted[passed].until.quiet_ns
        if quiet_ns is None:
            return QUIET_S
        # Nothing else says that it is over, and not before routers had to notice.
        places = self._timeline.steps[passed - 1].events if passed else ()
        happened = [self._lab.spec.timeline[place] for place in places]
        deeds = [each.did for each in happened if isinstance(each, HappeningSpec)]
        return (quiet_ns + noticed_ns(self._lab.spec, deeds)) / SECOND_NS

    def _follow(self) -> None:
        planned = [self._timeline.planned_ns(step) for step in self._timeline.steps]
        verified = Verified(self._wanted[0].tables, self._observer.tables, self._judged)
        passed, heard_s = 0, time.monotonic()
        end_ns = max(planned, default=self._timeline.began_ns) + patience_ns(self._lab.spec)
        while not self._ended.is_set():
            more = self._observer.changes(STEP_S)
            now_ns = time.time_ns()
            self._changes += more
            verified.take(more)
            if more:
                heard_s = time.monotonic()
            due = sum(at_ns <= now_ns for at_ns in planned)
            if due != passed:
                passed, heard_s = due, time.monotonic()
                verified.expect(self._wanted[passed].tables)
            quiet_s = self._quiet_s(passed)
            settled = verified.is_right and time.monotonic() - heard_s >= quiet_s
            self._read_waits(now_ns, settled=settled)
            if passed == len(planned) and (settled or now_ns > end_ns):
                break
        self._until_ns = time.time_ns()

    def _read_waits(self, now_ns: int, *, settled: bool) -> None:
        """Read how long daemons waited for CPUs, once for each moment: when it is over."""
        number = len(self._waits) - 1
        if number >= len(self._moments):
            return
        moment = self._moments[number]
        following = self._moments[number + 1 :]
        ends_ns = following[0].first_ns - int(QUIET_S * 1e9) if following else None
        is_last_moment = ends_ns is not None and now_ns >= ends_ns
        if (now_ns > moment.last_ns and settled) or is_last_moment:
            self._waits.append(waits(self._lab))
