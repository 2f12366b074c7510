"""Bursts of changes: what a watcher of a lab sees between two rests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from delaylab.forwarding.fates import Fates, Interval
from delaylab.forwarding.tables import Change, LinkChange, Lost, TableChange


@dataclass(frozen=True, kw_only=True)
class BurstOfChanges:
    """Changes between two rests, and the black holes and loops that began, ended or lasted then.

    `changes` counts the changes of tables, of the nodes `routers`. `links` are the last states of
    devices that changed. `lost` are the nodes about which messages were lost.
    """

    first_ns: int
    last_ns: int
    changes: int
    routers: tuple[str, ...]
    links: tuple[LinkChange, ...]
    holes: tuple[Interval, ...]
    loops: tuple[Interval, ...]
    lost: tuple[str, ...]


def followed(changes: Sequence[Change], fates: Fates) -> BurstOfChanges:
    """Take changes, at least one and by time, and return what they made.

    Black holes and loops that were there at the start, and still are, are left out.
    """
    first_ns, last_ns = changes[0].at_ns, changes[-1].at_ns
    fates.take(changes)
    of_tables = [change for change in changes if isinstance(change, TableChange)]
    devices = {
        (change.node, change.device): change for change in changes if isinstance(change, LinkChange)
    }
    seen = [
        interval
        for interval in fates.intervals()
        if (interval.end_ns is not None and interval.end_ns >= first_ns)
        or (interval.end_ns is None and interval.begin_ns is not None)
    ]
    return BurstOfChanges(
        first_ns=first_ns,
        last_ns=last_ns,
        changes=len(of_tables),
        routers=tuple(sorted({change.node for change in of_tables})),
        links=tuple(devices[each] for each in sorted(devices)),
        holes=tuple(each for each in seen if each.kind == "black hole"),
        loops=tuple(each for each in seen if each.kind == "loop"),
        lost=tuple(sorted({change.node for change in changes if isinstance(change, Lost)})),
    )
