"""The tables of a trial's events: what changed, which routes were wrong, where packets ended."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import polars as pl

from delaylab.api.forwarding import (
    Change,
    End,
    Fates,
    Hops,
    Interval,
    JudgedPrefixes,
    LinkChange,
    Lost,
    Row,
    Table,
    TableChange,
    TablesVerdict,
    Until,
    Verified,
    WrongRoutes,
    acted,
    apply,
)
from delaylab.api.plans import destinations, wiring
from delaylab.api.running import Happened, LiveLab, devices_at, faults_after, silent_devices
from delaylab_study.dataset.records.tables import TABLES


@dataclass(frozen=True)
class RightTables:
    """The right tables after a step, and the rule by which the network has converged.

    If that is a quiet time there are none.
    """

    tables: Mapping[str, Table]
    until: Until = field(default_factory=Until)


@dataclass(frozen=True)
class Seen:
    """The lab at the start: tables, devices without carrier, ends of links that are silent."""

    tables: dict[str, Table]
    down: set[End]
    silent: Collection[End]


def replayed(
    at_first: Mapping[str, Table],
    changes: Sequence[Change],
    wanted: Sequence[RightTables],
    boundaries_ns: Sequence[int],
    judged: JudgedPrefixes,
) -> tuple[list[TablesVerdict], list[Row]]:
    """Follow the tables change by change through the steps of a timeline.

    `wanted` are the right tables at first and after each step. Return for each step how it ended,
    and the numbers of wrong routes.
    """
    tables = {node: dict(table) for node, table in at_first.items()}
    verified = Verified(wanted[0].tables, tables, judged)
    wrong = WrongRoutes(verified)
    ended: list[TablesVerdict] = []
    wrong.note(changes[0].at_ns if changes else 0, sorted(tables))
    left = list(reversed(changes))
    for number, until_ns in enumerate([*boundaries_ns, None]):
        while left and (until_ns is None or left[-1].at_ns < until_ns):
            change = left.pop()
            if isinstance(change, TableChange):
                apply(tables, change)
                became = wrong.take([change])
                if ended and ended[-1].quiet_ns is None:
                    before_ns = ended[-1].right_ns if verified.is_right else None
                    ended[-1] = TablesVerdict(became or before_ns)
        if ended:
            ended[-1] = replace(ended[-1], wrong=verified.in_words)
        if until_ns is not None:
            following = wanted[number + 1]
            verified.expect(following.tables)
            until = following.until
            known = verified.is_right and until.quiet_ns is None
            right_ns = until_ns if known else None
            ended.append(TablesVerdict(right_ns, None, until.why, until.quiet_ns))
            wrong.note(until_ns, sorted(tables))
    return ended, wrong.rows


def tables_of(
    lab: LiveLab,
    at_first: Seen,
    changes: Sequence[Change],
    adjacencies: Sequence[tuple[int, str, str]],
    happened: Sequence[Happened],
) -> dict[str, pl.DataFrame]:
    """Return the tables of changes and of black holes and loops, by name."""
    rows = [_row(change) for change in changes]
    rows += [(at_ns, node, "adjacency", program, "-") for at_ns, node, program in adjacencies]
    rows.sort()
    fates = [_fate(each) for each in _intervals(lab, at_first, changes, happened)]
    return {
        "changes": pl.DataFrame(rows, schema=dict(TABLES["changes"]), orient="row"),
        "fates": pl.DataFrame(fates, schema=dict(TABLES["fates"]), orient="row"),
    }


def _row(change: Change) -> tuple[int, str, str, str, str]:
    match change:
        case TableChange(at_ns, node, prefix, hops):
            return at_ns, node, "table", prefix, _became(hops)
        case LinkChange(at_ns, node, device, up, _):
            return at_ns, node, "link", device, "up" if up else "down"
        case Lost(at_ns, node):
            return at_ns, node, "lost", "-", "-"


def _became(hops: Hops | None) -> str:
    if hops is None:
        return "gone"
    return ",".join(f"{hop.gateway or ''}@{hop.device}" for hop in sorted(hops)) or "discarded"


def _fate(interval: Interval) -> tuple[int, int | None, str, str, str, bool]:
    kind = interval.kind.replace(" ", "-")
    nodes = ",".join(sorted(interval.nodes))
    return (
        interval.begin_ns or 0,
        interval.end_ns,
        kind,
        interval.destination,
        nodes,
        interval.is_exact,
    )


def _intervals(
    lab: LiveLab, at_first: Seen, changes: Sequence[Change], happened: Sequence[Happened]
) -> Iterator[Interval]:
    """Yield the black holes and loops, but for those at dead nodes and to them.

    No kernel tells of silence: packets then vanish as if the link were down.
    """
    owners = destinations(lab.plan)
    silent, down = silent_devices(lab, at_first.silent), at_first.down
    fates = Fates(
        at_first.tables,
        wiring(lab.plan, [name for name, spec in lab.spec.nodes.items() if spec.forwards]),
        owners,
        down | silent,
    )
    heard: list[Change] = list(changes)
    for each in happened:
        now = silent_devices(lab, faults_after(each.step).silent)
        at_ns = each.began_ns or each.planned_ns
        heard += [
            LinkChange(at_ns, node, device, up=(node, device) in silent, admin_up=True)
            for node, device in sorted(silent ^ now)
        ]
        silent = now
        cut = devices_at(lab, faults_after(each.step).down)
        heard = acted(heard, cut - down, at_ns)
        down = cut
    fates.take(sorted(heard, key=lambda change: change.at_ns))
    for found in fates.intervals():
        running = while_running(found, {*found.nodes, owners[found.destination]}, happened)
        if running is not None:
            yield running


def while_running(
    interval: Interval, nodes: Collection[str], happened: Sequence[Happened]
) -> Interval | None:
    """Return an interval from when all its nodes ran; None if they did not while it lasted.

    That of a node which starts again begins then: before, nobody was to answer.
    """
    if not _dead_at(interval.begin_ns or 0, happened) & {*nodes}:
        return interval
    for each in happened:
        at_ns = each.began_ns or each.planned_ns
        later = interval.begin_ns is None or at_ns > interval.begin_ns
        off = each.step.dead | each.step.frozen
        if later and not off & {*nodes}:
            lasts = interval.end_ns is None or interval.end_ns > at_ns
            return replace(interval, begin_ns=at_ns) if lasts else None
    return None


def _dead_at(at_ns: int, happened: Sequence[Happened]) -> frozenset[str]:
    """Return the nodes that are dead or frozen at a time, by the timeline."""
    steps = [each.step for each in happened if each.planned_ns <= at_ns]
    return steps[-1].dead | steps[-1].frozen if steps else frozenset()
