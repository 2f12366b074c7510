"""Verb `delaylab converge`: break a running lab, and watch until its routers have converged."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from delaylab.errors import BadInput, DelaylabError
from delaylab.forwarding.detours import detours
from delaylab.forwarding.during import During
from delaylab.forwarding.expected import expected_tables
from delaylab.forwarding.fates import Fates
from delaylab.forwarding.service import acted, carriers_lost_ns
from delaylab.forwarding.tables import Change, LinkChange, Table
from delaylab.forwarding.topology import Topology
from delaylab.forwarding.until import SECOND_NS, Until
from delaylab.forwarding.verified import TablesVerdict, Verified
from delaylab.forwarding.wrong import WrongRoutes
from delaylab.lab import node_events
from delaylab.lab.links import link_changes
from delaylab.lab.node_events import NodeDeed
from delaylab.lab.routing import link_costs
from delaylab.lab.routing.faults import faults
from delaylab.lab.routing.link_costs import CostChange
from delaylab.lab.routing.observer import Observer, observing
from delaylab.lab.routing.routers import (
    adjacencies,
    devices_at,
    print_adjacencies,
    silent_devices,
    waits,
)
from delaylab.lab.running import LiveLab
from delaylab.plan.foreseen import noticed_ns, until_of, until_with, why_unforeseen
from delaylab.plan.routed_topology import judged, topology
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

Deed = LinkDeed | NodeDeed | Literal["cost"]
STEP_S = 0.2
"""Seconds that are waited for changes before the time is looked at."""
QUIET_S = 1.0
"""Seconds without a change after which all changes of an event are taken to have come."""

RIGHT = "right"
"""The word for the rule that all tables are right."""
MENDING = ("up", "start", "restart")
"""The deeds for a lab whose tables are wrong, which may become right by them."""
MOST_IN_PAIRS = 200
"""The most nodes of a lab of which each pair is followed: a change may concern all pairs."""


@dataclass(frozen=True)
class Break:
    """A thing to do to a lab: to links or to nodes, or to programs of nodes, at one moment.

    Of `cost` the names are those of links, each with its cost: `l12=100`, `l12:r1=100`.
    """

    do: Deed
    names: tuple[str, ...]
    programs: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """Return it in words."""
        of = f" ({', '.join(self.programs)})" if self.programs else ""
        return f"{self.do} {', '.join(self.names)}{of}"


class EventWatch:
    """A running lab whose forwarding tables are watched, and compared with the right ones.

    `until` says when it has converged: `asked`, or by its faults. Without right tables to compare
    with none is wrong.
    """

    def __init__(self, lab: LiveLab, observer: Observer, asked: Until) -> None:
        self._lab, self._observer, self._asked = lab, observer, asked
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
        self.until, wanted = self._right_tables()
        self._verified = Verified(wanted, observer.tables, judged(lab.spec, lab.plan))

    def _right_tables(self) -> tuple[Until, dict[str, Table]]:
        """Return the convergence rule, and the right tables if they are known."""
        until = self._asked
        if until.quiet_ns is None:
            until = until_with(self._lab.spec, self._topology, self.faults)
        if until.quiet_ns is not None:
            return until, {}
        return until, expected_tables(self._topology, self.faults)

    def settle(self, timeout_s: float, *, mends: bool, events: bool) -> None:
        """Wait until the tables are quiet, or without `events` until all are right.

        Raises BadInput if a table is wrong before the first event, unless that `mends` the lab, and
        DelaylabError if the tables change all the time.
        """
        if self.until.quiet_ns is None:
            if not events:
                self._until_right(timeout_s)
            self._require_right(mends=mends)
            return
        quiet_s = self.until.quiet_ns / SECOND_NS
        end_s = time.monotonic() + timeout_s
        while time.monotonic() < end_s:
            if not self._observer.changes(quiet_s):
                return
        what = f"before the event the tables change all the time: never quiet for {quiet_s:g} s"
        raise DelaylabError(what, fix="take a shorter time: delaylab converge --until quiet:1s")

    def _require_right(self, *, mends: bool) -> None:
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

    def _until_right(self, timeout_s: float) -> bool:
        """Wait until all tables are right; return False after a time."""
        end_s = time.monotonic() + timeout_s
        while not self._verified.is_right and time.monotonic() < end_s:
            self._verified.take(self._observer.changes(STEP_S))
        return self._verified.is_right

    def after(self, what: Break, timeout_s: float) -> Outcome:
        """Do something to the lab, and follow what comes of it until it has converged."""
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
        self.until, wanted = self._right_tables()
        noticed_s = noticed_ns(lab.spec, [what.do]) / SECOND_NS
        became, in_time = self._follow(wanted, wrong, changes, event_ns, timeout_s, noticed_s)
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
        known_ns = became if self.until.quiet_ns is None else None
        verdict = TablesVerdict(
            known_ns, self._verified.in_words, self.until.why, self.until.quiet_ns, is_quiet=in_time
        )
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
        noticed_s: float,
    ) -> tuple[int | None, bool]:
        """Add what changes until tables are right and nothing has changed for a while.

        Return when they became right, and whether that was, or they were quiet, in time.
        """
        self._verified.expect(wanted)
        wrong.note(event_ns, self._routers)
        became = event_ns if self._verified.is_right else None
        began_s = heard_s = time.monotonic()
        end_s = began_s + timeout_s
        quiet_ns, from_s = self.until.quiet_ns, began_s
        quiet_s = QUIET_S
        if quiet_ns is not None:
            # Nothing but silence says that it is over, and that only once routers had to notice.
            quiet_s, from_s = quiet_ns / SECOND_NS, began_s + noticed_s
        while (now_s := time.monotonic()) < end_s:
            if became is not None and now_s >= max(heard_s, from_s) + quiet_s:
                return became, True
            more = self._observer.changes(STEP_S)
            if more:
                heard_s = time.monotonic()
            changes += more
            right_ns = wrong.take(more)
            became = right_ns or (became if self._verified.is_right else None)
        return became, quiet_ns is None and became is not None


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
    if what.do == "cost":
        for text in what.names:
            link_costs.require(lab.spec, CostChange.parse(text))
        return
    for node in what.names:
        node_events.require(lab, node, what.programs)


def _do(lab: LiveLab, what: Break) -> int:
    """Do something to the lab; return when it began to act, in ns since 1970."""
    times: list[int | None] = []
    match what.do:
        case "down" | "up" | "silent":
            times += [each.began_ns for each in change_links(lab, what.names, what.do)]
        case "cost":
            began_ns, _ = link_costs.change(lab, map(CostChange.parse, what.names))
            times.append(began_ns)
        case deed:
            acted = (node_events.act(lab, node, deed, what.programs) for node in what.names)
            times += [each.began_ns for each in acted]
    began = [each for each in times if each is not None]
    if not began:
        raise BadInput(f"{what.words}: it is so already", fix="name something that changes")
    return min(began)


@dataclass(frozen=True)
class Convergence:
    """The rule by which a lab had converged before the first event, and what followed each."""

    until: Until
    outcomes: list[Outcome]


def converge(
    lab: LiveLab, events: Sequence[Break], timeout: Duration, until: str | None = None
) -> Convergence:
    """Do things to a lab one after the other; return what followed each.

    `until` is `right`, `quiet` or `quiet:5s`; None takes what the lab's file says, or what is
    known. Without events, wait until the lab has converged. Raises BadInput if its tables are not
    right before the first event, unless it mends the lab; for what the lab does not have; and
    without routing.
    """
    for each in events:
        _require(lab, each)
    asked = _rule(lab, until)
    with observing(lab) as observer:
        watch = EventWatch(lab, observer, asked)
        mends = bool(events) and events[0].do in MENDING
        watch.settle(timeout.ns / 1e9, mends=mends, events=bool(events))
        at_first = watch.until
        if events:
            print_adjacencies(lab)
        return Convergence(at_first, [watch.after(each, timeout.ns / 1e9) for each in events])


def _rule(lab: LiveLab, asked: str | None) -> Until:
    """Return the rule that is asked for, or that of the lab; raise BadInput if it has none."""
    if not any(spec.forwards for spec in lab.spec.nodes.values()):
        raise BadInput(f"lab {lab.name!r} has no router", fix="say `forwards: true` of a node")
    if asked not in (None, RIGHT):
        return until_of(lab.spec, asked)
    if not lab.spec.has_daemons:
        what = (
            f"lab {lab.name!r} has no `routing`, so which forwarding tables are right is not known"
        )
        fix = "watch daemons of your own with `--until quiet:5s`"
        raise BadInput(what, fix=fix)
    if asked == RIGHT:
        if (why := why_unforeseen(lab.spec)) is not None:
            what = f"the right forwarding tables of lab {lab.name!r} are not known: {why}"
            raise BadInput(what, fix="take `--until quiet:5s`, or vouch with `expect: shortest`")
        return Until()
    return until_of(lab.spec)
