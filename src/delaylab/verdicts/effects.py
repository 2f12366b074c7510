"""Times of the changes of forwarding tables after each event, in all and of each router."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from delaylab.forwarding.tables import Change, Lost, TableChange


@dataclass(frozen=True)
class ChangeSpan:
    """The changes of tables in a time: the first, the last, and how many."""

    first_ns: int
    last_ns: int
    count: int


@dataclass
class ChangesAfter:
    """The changes after an event, until the next one.

    `changes` is None if no table changed. `routers` has the changes of each router that had any;
    `timelines` their times. `lost` are the routers about which messages were lost.
    """

    at_ns: int
    changes: ChangeSpan | None = None
    routers: dict[str, ChangeSpan] = field(default_factory=dict)
    timelines: dict[str, list[int]] = field(default_factory=dict)
    lost: set[str] = field(default_factory=set)

    @property
    def first_after_ns(self) -> int | None:
        """Return how long after the event the first table changed; None if none did."""
        return None if self.changes is None else self.changes.first_ns - self.at_ns

    @property
    def last_after_ns(self) -> int | None:
        """Return how long after the event the last table changed; None if none did."""
        return None if self.changes is None else self.changes.last_ns - self.at_ns


def effects(changes: Iterable[Change], events_ns: Sequence[int]) -> list[ChangesAfter]:
    """Return what followed each event; changes before the first one belong to none.

    Changes come by time, and so do events.
    """
    found = [ChangesAfter(at_ns) for at_ns in events_ns]
    for change in changes:
        place = bisect_right(events_ns, change.at_ns) - 1
        if place < 0:
            continue
        effect = found[place]
        if isinstance(change, TableChange):
            effect.timelines.setdefault(change.node, []).append(change.at_ns)
        elif isinstance(change, Lost):
            effect.lost.add(change.node)
    for effect in found:
        effect.routers = {node: _span(times) for node, times in effect.timelines.items()}
        every = effect.routers.values()
        if every:
            first_ns = min(each.first_ns for each in every)
            last_ns = max(each.last_ns for each in every)
            effect.changes = ChangeSpan(first_ns, last_ns, sum(each.count for each in every))
    return found


def _span(times: Sequence[int]) -> ChangeSpan:
    return ChangeSpan(times[0], times[-1], len(times))
