"""The segments of a packet, parted by the kernel that had it.

Segments on one kernel have the times of its clock, so that they fit what its CPUs did. A segment
between a node with a kernel of its own and its machine is the machine's: the virtual machine's
monitor had the packet. Between two machines nobody had it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from types import MappingProxyType

from delaylab.api.causes import CpuWindow, Hold, Stage, WatchedPart, holds_within


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """A point that a packet passed: when, by the sender's clock and by the point's own, in ns.

    `by` is the part of the lab whose program stamped it there; None if the kernel did.
    """

    time_ns: int
    own_ns: int
    clock: str
    by: frozenset[int | str] | None


@dataclass(frozen=True, slots=True)
class _Placed:
    """A segment with the kernel that had the packet in it; None between two machines.

    `holds` are the times for which something held the packet in it, by the clock of that kernel.
    """

    stage: Stage
    clock: str | None
    holds: Sequence[Hold] = ()


def parts(
    due_ns: int,
    points: Sequence[Passed],
    windows: Mapping[str, CpuWindow],
    machines: frozenset[str],
    holds: Sequence[Hold] = (),
    by_links: Mapping[str, Sequence[Hold]] = MappingProxyType({}),
) -> list[WatchedPart]:
    """Return the parts of a packet's way, from when it was due on.

    `windows` are those of each clock whose CPUs were recorded, `machines` the clocks of machines.
    `holds` are the times for which something held the packet, by the sender's clock; `by_links` are
    those by links, by the clock of each engine.
    """
    placed = [
        replace(each, holds=list(_held(each.stage, stage, holds)))
        for each, stage in zip(
            _placed(due_ns, points, machines), stages(due_ns, points), strict=True
        )
    ]
    return [
        WatchedPart(
            stages=[each.stage for each in together],
            recorded=None if clock is None else windows.get(clock),
            between=clock is None,
            holds=[
                *(hold for each in together for hold in each.holds),
                *(by_links.get(clock, ()) if clock is not None else ()),
            ],
        )
        for clock, group in groupby(placed, key=lambda each: each.clock)
        for together in [list(group)]
    ]


def _held(own: Stage, stage: Stage, holds: Sequence[Hold]) -> Iterator[Hold]:
    """Yield the holds within a segment by its own clock; `stage` is by that of the holds."""
    ahead_ns = own.start_ns - stage.start_ns
    for hold in holds_within(holds, *stage.times):
        yield replace(hold, start_ns=hold.start_ns + ahead_ns, end_ns=hold.end_ns + ahead_ns)


def stages(due_ns: int, points: Sequence[Passed]) -> list[Stage]:
    """Return the segments by the sender's clock."""
    first = points[0]
    found = [Stage(start_ns=due_ns, end_ns=first.time_ns, by=first.by, timer=True)]
    for start, end in pairwise(points):
        found.append(Stage(start_ns=start.time_ns, end_ns=end.time_ns, by=end.by))
    return found


def _placed(due_ns: int, points: Sequence[Passed], machines: frozenset[str]) -> Iterator[_Placed]:
    first = points[0]
    early_ns = first.time_ns - due_ns
    slip = Stage(start_ns=first.own_ns - early_ns, end_ns=first.own_ns, by=first.by, timer=True)
    yield _Placed(slip, first.clock)
    for start, end in pairwise(points):
        took_ns = end.time_ns - start.time_ns
        if start.clock == end.clock:
            stage = Stage(start_ns=start.own_ns, end_ns=end.own_ns, by=end.by)
            yield _Placed(stage, start.clock)
        elif start.clock in machines and end.clock in machines:
            stage = Stage(start_ns=start.time_ns, end_ns=end.time_ns, by=end.by)
            yield _Placed(stage, None)
        elif start.clock in machines:
            stage = Stage(start_ns=start.own_ns, end_ns=start.own_ns + took_ns)
            yield _Placed(stage, start.clock)
        else:
            stage = Stage(start_ns=end.own_ns - took_ns, end_ns=end.own_ns, by=end.by)
            yield _Placed(stage, end.clock)
