"""The verb `watch`: follow a running lab's forwarding tables, and say what changed in them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence

from rich.console import Console

from delaylab.forwarding.fates import Fates, Interval
from delaylab.forwarding.tables import LinkChange
from delaylab.io.values import JsonObject
from delaylab.lab.routing.observer import Observer
from delaylab.lab.running import LiveLab
from delaylab.plan.wiring import destinations, wiring
from delaylab.units import Duration
from delaylab.verbs.time_of_day import time_of_day
from delaylab.verdicts.bursts import BurstOfChanges, followed

MOST_NAMES = 6
"""The most names that a line lists."""


class Watching:
    """A lab whose forwarding tables are watched: the bursts of their changes."""

    def __init__(self, lab: LiveLab, observer: Observer) -> None:
        routers = [name for name, node in lab.spec.nodes.items() if node.forwards]
        self._observer = observer
        # A node's name for each of its addresses.
        self.names = destinations(lab.plan)
        down = [end for end, link in observer.links.items() if not link.up]
        self._fates = Fates(observer.tables, wiring(lab.plan, routers), self.names, down)

    def bursts(self, length: Duration, quiet: Duration) -> Iterator[BurstOfChanges]:
        """Yield each burst of changes after a rest of `quiet`, until the time is over."""
        end_s = time.monotonic() + length.seconds
        while (left_s := end_s - time.monotonic()) > 0:
            changes = self._observer.changes(left_s)
            if changes:
                left_s = max(0.0, end_s - time.monotonic())
                changes += self._observer.settled(quiet.seconds, left_s)
                yield followed(changes, self._fates)


def about(observer: Observer) -> str:
    """Return a line on what is observed."""
    routes = sum(len(table) for table in observer.tables.values())
    return f"observing {len(observer.tables)} nodes with {routes} routes"


def print_burst(burst: BurstOfChanges, names: Mapping[str, str], console: Console) -> None:
    """Print a burst: a line on its changes, and one for each kind of trouble that they made."""
    console.print("\n".join(lines(burst, names)), soft_wrap=True, markup=False, highlight=False)


def lines(burst: BurstOfChanges, names: Mapping[str, str]) -> list[str]:
    """Return a burst as text; `names` has the node of each destination."""
    took = (burst.last_ns - burst.first_ns) / 1e6
    of = f" of {_some(burst.routers)}" if burst.routers else ""
    found = [
        f"{time_of_day(burst.first_ns)}: {burst.changes} table changes{of}, within {took:.1f} ms"
    ]
    if burst.links:
        found.append(f"  devices: {_some([_state(each) for each in burst.links])}")
    for title, intervals in (("black holes", burst.holes), ("loops", burst.loops)):
        if intervals:
            found.append(f"  {title} {_trouble(intervals, names)}")
    if burst.lost:
        found.append(f"  messages lost, tables read again: {_some(burst.lost)}")
    return found


def as_json(
    bursts: Sequence[BurstOfChanges], observer: Observer, names: Mapping[str, str]
) -> JsonObject:
    """Return all bursts for `--json`; times are in ns since 1970."""
    return {
        "nodes": sorted(observer.tables),
        "bounds_ns": dict(observer.bounds),
        "bursts": [
            {
                "first_ns": burst.first_ns,
                "last_ns": burst.last_ns,
                "changes": burst.changes,
                "routers": list(burst.routers),
                "devices": [
                    {"node": it.node, "device": it.device, "up": it.up, "admin_up": it.admin_up}
                    for it in burst.links
                ],
                "black_holes": [_interval(it, names) for it in burst.holes],
                "loops": [_interval(it, names) for it in burst.loops],
                "lost": list(burst.lost),
            }
            for burst in bursts
        ],
    }


def _interval(interval: Interval, names: Mapping[str, str]) -> JsonObject:
    return {
        "to": names[interval.destination],
        "address": interval.destination,
        "routers": sorted(interval.nodes),
        "begin_ns": interval.begin_ns,
        "end_ns": interval.end_ns,
        "exact": interval.is_exact,
    }


def _trouble(intervals: Sequence[Interval], names: Mapping[str, str]) -> str:
    """Return where packets could not go, at which routers, and for how long."""
    to = sorted({names[each.destination] for each in intervals})
    at = sorted({" and ".join(sorted(each.nodes)) for each in intervals})
    lengths = [each.length_ns for each in intervals if each.length_ns is not None]
    lasting = len({each.destination for each in intervals if each.end_ns is None})
    parts = [f"at {_some(at)} for packets to {_some(to)}"]
    if lengths:
        parts.append(f"the longest {max(lengths) / 1e6:.1f} ms")
    if lasting:
        parts.append(f"still there for {lasting} address{'' if lasting == 1 else 'es'}")
    return "; ".join(parts)


def _state(link: LinkChange) -> str:
    state = "up" if link.up else "without a carrier" if link.admin_up else "down"
    return f"{link.node}.{link.device} {state}"


def _some(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
