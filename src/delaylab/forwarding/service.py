"""Times without service after an event: from when its order acted, and only while nodes run."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from delaylab.forwarding.tables import Change, LinkChange
from delaylab.forwarding.walks import End


@dataclass(frozen=True)
class ServiceOutage:
    """A time in which some packets of a node did not get to an address, by the tables of all.

    `begin_ns` is None if it was so at the start, `end_ns` if it is so still.
    """

    source: str
    destination: str
    begin_ns: int | None
    end_ns: int | None


def acted(changes: Iterable[Change], ends: Collection[End], at_ns: int) -> list[Change]:
    """Return changes by time; these ends lose their carrier in them when the order acted.

    An engine drops a link's frames from then on. The carriers fall a little later, which routers
    see: that lag is the lab's, and what is lost in it is the event's.
    """
    waited = set(ends)
    found: list[Change] = []
    for change in sorted(changes, key=lambda change: change.at_ns):
        if isinstance(change, LinkChange) and not change.up and change.at_ns >= at_ns:
            end = change.node, change.device
            found.append(replace(change, at_ns=at_ns) if end in waited else change)
            waited.discard(end)
        else:
            found.append(change)
    return sorted(found, key=lambda change: change.at_ns)


def carriers_lost_ns(changes: Iterable[Change], ends: Collection[End], at_ns: int) -> int | None:
    """Return when the last of these ends lost its carrier after an order; None if none did."""
    lost = [
        change.at_ns
        for change in changes
        if isinstance(change, LinkChange)
        and not change.up
        and change.at_ns >= at_ns
        and (change.node, change.device) in ends
    ]
    return max(lost, default=None)
