"""Verb `delaylab converge`: break a running lab, and watch its routers until all is right."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from delaylab.errors import BadInput, DelaylabError
from delaylab.forwarding.detours import detours
from delaylab.forwarding.during import During
from delaylab.forwarding.expected import expected_tables
from delaylab.forwarding.fates import Fates
from delaylab.forwarding.service import acted, carriers_lost_ns
from delaylab.forwarding.tables import Change, LinkChange, Table
from delaylab.forwarding.topology import Topology
from delaylab.forwarding.verified import TablesVerdict, Verified
from delaylab.forwarding.wrong import WrongRoutes
from delaylab.lab import node_events
from delaylab.lab.links import link_changes
from delaylab.lab.node_events import NodeDeed
from delaylab.lab.routing.faults import faults
from delaylab.lab.routing.observer import Observer, observing
from delaylab.lab.routing.routers import (
    adjacencies,
    devices_at,
    print_adjacencies,
    silent_devices,
    waits,
)
from delaylab.lab.running import LiveLab
from delaylab.plan.routed_topology import (
    judged,
    slowest_s,
    topology,
    why_unforeseen,
    why_unforeseen_with,
)
from delaylab.plan.wiring import destinations, wiring
from delaylab.units import Duration
from delaylab.verbs.events import LinkDeed, change_links
from delaylab.verdicts.outcome import (
    Outcome,
    Trouble,
    course,
    outcome,
    waited_between,
)

Deed = LinkDeed | NodeDeed
STEP_S = 0.2
"""Seconds that are waited for changes before the time is looked at."""
QUIET_S = 1.0
"""Seconds without a change after which all changes of an event are taken to have come."""

MENDING = ("up", "start", "restart")
"""The deeds for a lab whose tables are wrong, which may become right by them."""
MOST_IN_PAIRS = 200
"""The most nodes of a lab of which each pair is followed: a change may concern all pairs."""


@dataclass(frozen=True)
class Break:
    """A thing to do to a lab: to links or to nodes, or to programs of nodes, at one moment."""

    do: Deed
    names: tuple[str, ...]
    programs: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """Return it in words."""
        of = f" ({', '.join(self.programs)})" if self.programs else ""
        return f"{self.do} {', '.join(self.names)}{of}"


class EventWatch:
    """A running lab whose forwarding tables are watched and compared with the right ones."""

    def __init__(self, lab: LiveLab, observer: Observer) -> None:
        self._lab, self._observer = lab, observer
        self._topology: Topology = topology(lab.spec, lab.plan)
        self.faults = faults(lab)
        self._routers = [name for name, spec in lab.spec.nodes.items() if spec.forwards]
        self._addresses = destinations(lab.plan)
        down = {
            (end, device) for (end, device), link in observer.links.items() if not link.up
        } | silent_devices(lab, self.faults.silent)
        # It goes on from one event to the next: an outage may end with another than it began with.
        self._watched = Fates(
            observer.tables,
            wiring(lab.plan, self._routers),
            self._addresses,
            down,
            pairs=len(lab.spec.nodes) <= MOST_IN_PAIRS,
        )
        self.unforeseen, wanted = self._right_tables()
        self._verified = Verified(wanted, observer.tables, judged(lab.spec, lab.plan))

    def _right_tables(self) -> tuple[str | None, dict[str, Table]]:
        """Return why the right tables are not known, if so, and those that are compared."""
        why = why_unforeseen_with(self._topology, self.faults)
        return why, {} if why else expected_tables(self._topology, self.faults)

    def require_right(self, *, mends: bool) -> None:
        """Raise BadInput if a table is wrong before the first event, unless that `mends` the lab.

        Raises DelaylabError if a part of the lab is dead, of which that may come.
        """
        if not self._verified.is_right:
            if ended := self._lab.ended():
                what = f"agent {ended[0]} is dead, and {self._verified.wrong} routes are wrong"
                raise DelaylabError(what, fix=f"delaylab down {self._lab.name}, then up again")
            if mends:
                return
            what = f"before the event {self._verified.in_words}"
            raise BadInput(what, fix="wait until the daemons are done: delaylab converge LAB")

    def until_right(self, timeout_s: float) -> bool:
        """Wait until all tables are right; return False after a time."""
        end_s = time.monotonic() + timeout_s
        while not self._verified.is_right and time.monotonic() < end_s:
            self._verified.take(self._observer.changes(STEP_S))
        return self._verified.is_right

    def after(self, what: Break, timeout_s: float) -> Outcome:
        """Do something to the lab, and follow what comes of it until all tables are right."""
        lab = self._lab
        addresses, watched = self._addresses, self._watched
        were = set(self.faults.nodes)
        ways = _ways(watched, addresses, were)
        waited = waits(lab)
        event_ns = _do(lab, what)
        now = faults(lab)
        before, after = silent_devices(lab, self.faults.silent), silent_devices(lab, now.silent)
        # No kernel tells of silence: packets then vanish as if the link were down.
        unseen = [
            LinkChange(event_ns, node, device, up=(node, device) in before, admin_up=True)
            for node, device in before ^ after
        ]
        cut = devices_at(lab, now.down) - devices_at(lab, self.faults.down)
        self.faults = now
        changes: list[Change] = [*unseen]
        wrong = WrongRoutes(self._verified)
        self.unforeseen, wanted = self._right_tables()
        became = self._follow(wanted, wrong, changes, event_ns, timeout_s)
        until_ns = time.time_ns()
        watched.take(acted(changes, cut, event_ns))
        without = were | set(now.nodes)
        during = During(event_ns, addresses, were, now.nodes)
        trouble = Trouble(
            during.trouble(watched.intervals()),
            during.trouble(watched.outages()) if watched.pairs else None,
            carriers_lost_ns(changes, cut, event_ns),
        )
        detoured = detours(ways, _ways(watched, addresses, without), without)
        over_time = course(
            event_ns,
            until_ns,
            self._routers,
            now.nodes,
            wrong.rows,
            trouble.intervals,
            ways=detoured,
        )
        changes = [change for change in changes if change not in unseen]
        known_ns = None if self.unforeseen else became
        verdict = TablesVerdict(known_ns, self._verified.in_words, self.unforeseen)
        return outcome(
            what.words,
            over_time,
            changes,
            trouble,
            verdict,
            waited_between(waited, waits(lab)),
            adjacencies_ns=(at_ns for at_ns, _, _ in adjacencies(lab)),
        )

    def _follow(
        self,
        wanted: dict[str, Table],
        wrong: WrongRoutes,
        changes: list[Change],
        event_ns: int,
        timeout_s: float,
    ) -> int | None:
        """Add what changes until tables are right and nothing has changed for a while."""
        self._verified.expect(wanted)
        wrong.note(event_ns, self._routers)
        became = event_ns if self._verified.is_right else None
        end_s = time.monotonic() + timeout_s
        # If it is not known what is right, that nothing comes any more is the only sign of the end.
        quiet_s = QUIET_S + (slowest_s(self._lab.spec) if self.unforeseen else 0)
        while time.monotonic() < end_s:
            more = self._observer.changes(quiet_s if became is not None else STEP_S)
            if not more and became is not None:
                break
            changes += more
            right_ns = wrong.take(more)
            became = right_ns or (became if self._verified.is_right else None)
        return became


def _ways(
    watched: Fates, addresses: Mapping[str, str], dead: Collection[str]
) -> dict[str, dict[str, frozenset[str]]]:
    """Return where each node sends packets to each other node, by one of its addresses."""
    one_of = {node: address for address, node in addresses.items() if node not in dead}
    return {node: watched.following(address) for node, address in one_of.items()}


def _require(lab: LiveLab, what: Break) -> None:
    """Raise BadInput if the lab does not have what is named, or if it cannot change."""
    if what.do in ("down", "up", "silent"):
        for link in what.names:
            link_changes.require(lab, link)
        return
    for node in what.names:
        node_events.require(lab, node, what.programs)


def _do(lab: LiveLab, what: Break) -> int:
    """Do something to the lab; return when it began to act, in ns since 1970."""
    times: list[int | None] = []
    match what.do:
        case "down" | "up" | "silent":
            times += [each.began_ns for each in change_links(lab, what.names, what.do)]
        case deed:
            acted = (node_events.act(lab, node, deed, what.programs) for node in what.names)
            times += [each.began_ns for each in acted]
    began = [each for each in times if each is not None]
    if not began:
        raise BadInput(f"{what.words}: it is so already", fix="name something that changes")
    return min(began)


def converge(lab: LiveLab, events: Sequence[Break], timeout: Duration) -> list[Outcome]:
    """Do things to a lab one after the other; return what followed each.

    Without events, wait until all tables are right. Raises BadInput if they are not before the
    first event, unless it mends the lab; for what the lab does not have; and without daemons.
    """
    for each in events:
        _require(lab, each)
    why = why_unforeseen(lab.spec) if lab.spec.has_daemons else "it has no routing daemons"
    if why is not None:
        raise BadInput(f"the right forwarding tables of lab {lab.name!r} are not known: {why}")
    with observing(lab) as observer:
        watch = EventWatch(lab, observer)
        if not events:
            watch.until_right(timeout.ns / 1e9)
        watch.require_right(mends=bool(events) and events[0].do in MENDING)
        if events:
            print_adjacencies(lab)
        return [watch.after(each, timeout.ns / 1e9) for each in events]
