"""The events of a trial as its dataset has them: what the routers did after each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl

from delaylab.api.forwarding import Interval, Kind
from delaylab.api.verdicts import MOST_WAITED, ChangesAfter, ChangeSpan, RouterState, states_of
from delaylab_study.dataset.records.events import EventRecord
from delaylab_study.dataset.records.trial import TrialRecord
from delaylab_study.dataset.sample_times import by_local_clock
from delaylab_study.dataset.store import Study

SECOND_NS = 10**9
ENDING = ("stop", "kill", "restart")
"""Actions of a timeline that end nodes or programs. An adjacency that an ended router loses itself
does not count as detected."""


@dataclass(frozen=True)
class SeenEvent:
    """An event of a trial, and what the routers did from then until the next one.

    Times are in ns since 1970, by this machine's clock. `seen_ns` is the first change of a carrier,
    an adjacency or a table, `adjacency_ns` the first of an adjacency at a router that the event
    did not end. `effect` has the changes of tables. `holes` and `loops` are those that there
    were after it, also from before. `lost` are the nodes of which messages were lost. `stolen` is
    the share of the CPUs' time that a hypervisor took meanwhile, None if it is not known.
    """

    trial: str
    repeat: int
    record: EventRecord
    seen_ns: int | None
    adjacency_ns: int | None
    effect: ChangesAfter
    holes: tuple[Interval, ...] = ()
    loops: tuple[Interval, ...] = ()
    lost: tuple[str, ...] = ()
    stolen: float | None = None

    @property
    def did(self) -> frozenset[str]:
        """Return what happened, such as `down`."""
        return frozenset(part.did for part in self.record.parts)

    @property
    def happened(self) -> bool:
        """Return True if all of it was done."""
        return all(part.began_ns is not None and not part.failed for part in self.record.parts)

    @property
    def detected_s(self) -> float | None:
        """Return the time until another router's first change of an adjacency, in s."""
        return self.after_s(self.adjacency_ns)

    @property
    def last_change_s(self) -> float | None:
        """Return the time until the last change of a table, in s."""
        return self.after_s(self.effect.changes.last_ns if self.effect.changes else None)

    @property
    def converged_s(self) -> float | None:
        """Return the time from the first change of an adjacency to the last of a table, in s."""
        if self.detected_s is None or self.last_change_s is None:
            return None
        return max(0.0, self.last_change_s - self.detected_s)

    @property
    def right_s(self) -> float | None:
        """Return the time until all tables were right, in s."""
        return self.after_s(self.record.right_ns)

    @property
    def quiet_s(self) -> float | None:
        """Return the time until the last change before a quiet time; None if that is not the rule.

        It is None, too, if tables still changed before the next event, or the end.
        """
        quiet_ns, changes = self.record.quiet_ns, self.effect.changes
        if quiet_ns is None:
            return None
        last_ns = self.record.event_ns if changes is None else changes.last_ns
        return self.after_s(last_ns) if self.record.until_ns - last_ns >= quiet_ns else None

    @property
    def by_rule_s(self) -> float | None:
        """Return the time until the network had converged, by the rule of the event."""
        return self.right_s if self.record.quiet_ns is None else self.quiet_s

    @property
    def held_up(self) -> float | None:
        """Return the share of the convergence that waiting for CPUs, and steal, may explain.

        It is None if it is not known.
        """
        waited = self.record.waited
        if waited is None or not self.by_rule_s:
            return None
        return waited.longest_ns / SECOND_NS / self.by_rule_s + (self.stolen or 0.0)

    @property
    def is_cpu_bound(self) -> bool:
        """Return True if more than a tenth of the convergence may be the emulator's."""
        return self.held_up is not None and self.held_up > MOST_WAITED

    def after_s(self, at_ns: int | None) -> float | None:
        """Return a time as seconds since the event; None stays None."""
        return None if at_ns is None else (at_ns - self.record.event_ns) / SECOND_NS


@dataclass(frozen=True)
class SeenTrial:
    """The events of a trial, and the state of its routers over time.

    `states` has the times in which routers had wrong routes or could be part of a loop, in s since
    the first event; in all others their tables were right.
    """

    trial: str
    events: list[SeenEvent] = field(default_factory=list)
    routers: list[str] = field(default_factory=list)
    states: list[RouterState] = field(default_factory=list)

    @property
    def length_s(self) -> float:
        """Return the time from the first event to the end of the observation, in s."""
        first, last = self.events[0].record, self.events[-1].record
        return (last.until_ns - first.event_ns) / SECOND_NS


def seen(study: Study, trial: TrialRecord) -> SeenTrial | None:
    """Return the events of a trial; None if its lab's timeline has none."""
    if not trial.events:
        return None
    changes, fates = study.changes(trial.id), study.fates(trial.id)
    intervals = [_interval(*row) for row in fates.iter_rows()]
    hosts = by_local_clock(study.hosts(trial.id), trial.ahead_ns)
    events = [_event(trial, record, changes, intervals, hosts) for record in trial.events]
    first_ns, end_ns = trial.events[0].event_ns, trial.events[-1].until_ns
    states = states_of(study.wrong(trial.id).iter_rows(), intervals, first_ns, end_ns)
    routers = sorted(set(changes["node"]) | {each.router for each in states})
    return SeenTrial(trial.id, events, routers, states)


def _interval(
    begin_ns: int, end_ns: int | None, fate: str, destination: str, nodes: str, exact: bool
) -> Interval:
    kind: Kind = "loop" if fate == "loop" else "black hole"
    return Interval(destination, kind, frozenset(nodes.split(",")), begin_ns or None, end_ns, exact)


def _event(
    trial: TrialRecord,
    record: EventRecord,
    changes: pl.DataFrame,
    intervals: list[Interval],
    hosts: pl.DataFrame,
) -> SeenEvent:
    # Both ends count: the change by which an event was noticed may have its very time.
    inside = changes.filter(pl.col("time_ns").is_between(record.event_ns, record.until_ns))
    tables = inside.filter(pl.col("what") == "table")
    noticed = inside.filter(pl.col("what") != "lost")["time_ns"].to_list()
    ended = {name for part in record.parts if part.did in ENDING for name in part.names}
    of_others = (pl.col("what") == "adjacency") & ~pl.col("node").is_in(ended)
    adjacent = inside.filter(of_others)["time_ns"].to_list()
    # Whoever caused it: an outage may end with another event than it began with.
    there = [
        interval
        for interval in intervals
        if (interval.begin_ns is None or interval.begin_ns <= record.until_ns)
        and (interval.end_ns is None or interval.end_ns >= record.event_ns)
    ]
    lost = inside.filter(pl.col("what") == "lost")["node"].unique().sort().to_list()
    return SeenEvent(
        trial=trial.id,
        repeat=trial.block,
        record=record,
        seen_ns=min(noticed, default=None),
        adjacency_ns=min(adjacent, default=None),
        effect=changes_of_tables(record.event_ns, _by_router(tables)),
        holes=tuple(each for each in there if each.kind == "black hole"),
        loops=tuple(each for each in there if each.kind == "loop"),
        lost=tuple(lost),
        stolen=_stolen(hosts, record),
    )


def changes_of_tables(event_ns: int, by_router: Mapping[str, list[int]]) -> ChangesAfter:
    """Return the changes of tables after an event, given their times by router, in order."""
    effect = ChangesAfter(event_ns)
    for router, times in by_router.items():
        effect.timelines[router] = times
        effect.routers[router] = ChangeSpan(times[0], times[-1], len(times))
    every = [at_ns for times in by_router.values() for at_ns in times]
    if every:
        effect.changes = ChangeSpan(min(every), max(every), len(every))
    return effect


def _by_router(tables: pl.DataFrame) -> dict[str, list[int]]:
    return {
        str(node): found["time_ns"].to_list()
        for (node,), found in tables.group_by("node", maintain_order=True)
    }


def _stolen(hosts: pl.DataFrame, record: EventRecord) -> float | None:
    """Return the share of the CPUs' time that a hypervisor took after an event.

    Of several machines, that of the one whose hypervisor took most counts.
    """
    until_ns = record.right_ns or record.until_ns
    rows = hosts.filter(
        (pl.col("place") == "machine")
        & pl.col("time_ns").is_between(record.event_ns, until_ns + SECOND_NS // 10)
        & pl.col("metric").str.contains(r"^cpu\d+\.steal$")
    )
    shares = rows.group_by("machine").agg(pl.col("value").mean())["value"]
    return float(shares.max()) if len(rows) else None  # type: ignore[arg-type]
