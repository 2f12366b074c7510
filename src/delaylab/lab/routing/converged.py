"""Readiness of routing daemons: their forwarding tables are right, or change no more.

A table is right if it equals the shortest paths of the network. Where it is not known what is
right, the wait is for a time without a change.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from delaylab.agent.wire.programs import ProgramState
from delaylab.errors import DelaylabError
from delaylab.forwarding.expected import expected_tables
from delaylab.forwarding.tables import Change, Table, TableChange
from delaylab.forwarding.topology import Topology, parts
from delaylab.forwarding.until import SECOND_NS, Until
from delaylab.forwarding.verified import Verified
from delaylab.lab.programs import lacking, programs
from delaylab.lab.routing.faults import faults
from delaylab.lab.routing.observer import Observer, observing
from delaylab.lab.routing.ready import Converged
from delaylab.lab.running import LiveLab
from delaylab.plan.foreseen import found_ns, patience_ns, until_of, until_with
from delaylab.plan.routed_topology import judged, topology
from delaylab.progress import Progress, silent
from delaylab.spec.routing.expect import NOTHING

LOOK_EVERY_S = 1.0
"""Seconds without a change after which daemons are asked whether they live."""
MANY, FEW = 100, 16
"""The fewest routers of a lab that are not all observed at first, and how many then are.

For each change of a route the kernel looks at every socket that hears of routes, in all networks
together (`netlink_broadcast`). With one for each of 852 routers a change took twice as long."""
NEARLY = 0.1
"""The share of wrong routes with which a few routers at rest are left for all of them.

Routers then wait for announcements that were lost, and the CPUs are idle. To read the tables of 852
routers takes seconds, which are free meanwhile."""
LAST_LINES = 10
"""The lines of a program's output that say why it ended."""
PAUSE = 20
"""The time until the nodes are asked again, as a multiple of the time that they took to answer."""


@dataclass(frozen=True)
class _ComparedTables:
    """Observed tables, and where they are wrong."""

    observer: Observer
    verified: Verified


class Awaited:
    """The tables that a lab's routers are to have, and an observer of those that they have.

    It observes `few` of the routers, and all of them once the tables of these are right, or nearly
    so and at rest.
    """

    def __init__(
        self, lab: LiveLab, network: Topology, observer: Observer, few: Collection[str] | None
    ) -> None:
        self._lab, self._network, self._observer, self._few = lab, network, observer, few
        self._wanted = expected_tables(network, faults(lab, daemons=False))
        self._watch = _ProgramWatch(lab)

    def wait(self, began_s: float, deadline_s: float) -> Converged:
        """Return when the tables of all routers are right.

        Raises DelaylabError if a daemon has ended, or if they are not right in time.
        """
        if self._few is None:
            self._follow(self._verified(self._observer, self._wanted), deadline_s)
            return self._converged(began_s)
        few = {node: table for node, table in self._wanted.items() if node in self._few}
        nearly = sum(map(len, few.values())) * NEARLY
        self._follow(self._verified(self._observer, few), deadline_s, nearly)
        with observing(self._lab) as observer:
            self._follow(self._verified(observer, self._wanted), deadline_s)
        return self._converged(began_s)

    def _converged(self, began_s: float) -> Converged:
        after_s = time.monotonic() - began_s
        cut = tuple(tuple(sorted(each)) for each in parts(self._network))
        return Converged(len(self._wanted), after_s, parts=cut)

    def _verified(self, observer: Observer, wanted: Mapping[str, Table]) -> _ComparedTables:
        compared = judged(self._lab.spec, self._lab.plan)
        return _ComparedTables(observer, Verified(wanted, observer.tables, compared))

    def _follow(self, compared: _ComparedTables, deadline_s: float, nearly: float = 0) -> None:
        """Return when tables are right, or rest while fewer than `nearly` routes are wrong."""
        while not compared.verified.is_right:
            changed = _follow(compared.observer, compared.verified, self._watch, deadline_s)
            if not changed and compared.verified.wrong < nearly:
                return


class Quiet:
    """The tables of a lab's routers, which are awaited until they change no more.

    Like `Awaited`, it observes `few` of the routers at first. `at_start` says that the daemons have
    no routes yet: quiet has no meaning before the first.
    """

    def __init__(
        self,
        lab: LiveLab,
        until: Until,
        observer: Observer,
        few: Collection[str] | None,
        *,
        at_start: bool,
    ) -> None:
        self._lab, self._until, self._observer, self._few = lab, until, observer, few
        routers = sum(spec.forwards for spec in lab.spec.nodes.values())
        self._waits_for_first = at_start and routers > 1
        self._watch = _ProgramWatch(lab)

    def wait(self, began_s: float, deadline_s: float) -> Converged:
        """Return when no table has changed for a time, once daemons could have found each other.

        Raises DelaylabError if a daemon has ended, or if tables still change in the end where the
        lab's file says `expect: quiet`.
        """
        last_s = self._follow(self._observer, began_s, deadline_s)
        if self._few is not None and last_s is not None:
            with observing(self._lab) as observer:
                later_s = self._follow(observer, began_s, deadline_s)
            last_s = None if later_s is None else max(last_s, later_s)
        never = last_s is not None and self._waits_for_first
        routers = sum(spec.forwards for spec in self._lab.spec.nodes.values())
        quiet_s = (self._until.quiet_ns or 0) / SECOND_NS
        if last_s is None and self._lab.spec.expect is not None:
            what = f"the tables still changed in the end: never quiet for {quiet_s:g} s"
            fix = "give the daemons more time: `routing: {timeout: 5min}`, or say `expect: none`"
            raise DelaylabError(what, fix=fix)
        after_s = None if last_s is None else max(0.0, last_s - began_s)
        is_quiet = last_s is not None
        return Converged(
            routers, after_s or 0.0, self._until.why, (), quiet_s, is_quiet=is_quiet, no_route=never
        )

    def _follow(self, observer: Observer, began_s: float, deadline_s: float) -> float | None:
        """Return when the last table changed (monotonic); None if they still changed in the end."""
        quiet_s = (self._until.quiet_ns or 0) / SECOND_NS
        last_s, from_s = began_s, began_s + found_ns(self._lab.spec) / SECOND_NS
        while (now_s := time.monotonic()) < deadline_s:
            over_s = max(last_s, from_s) + quiet_s
            if now_s >= over_s and not self._waits_for_first:
                return last_s
            left_s = (deadline_s if self._waits_for_first else min(over_s, deadline_s)) - now_s
            changes = observer.changes(max(0.0, min(LOOK_EVERY_S, left_s)))
            if any(isinstance(change, TableChange) for change in changes):
                last_s = time.monotonic()
                # Routes to a router's own networks come from the kernel, not from its daemons.
                self._waits_for_first &= not any(map(_leads_on, changes))
            elif not changes:
                self._watch.look()
        self._watch.look(last=True)
        return last_s if self._waits_for_first else None


@contextmanager
def awaiting(lab: LiveLab, *, at_start: bool = True) -> Iterator[Awaited | Quiet | None]:
    """Observe a lab's routers, whose daemons may start later; None if nothing is awaited.

    Call it before the daemons start: they would compete with its first reading for the CPUs.
    """
    if not lab.spec.has_daemons or lab.spec.expect == NOTHING:
        yield None
        return
    until, network = _until(lab), topology(lab.spec, lab.plan)
    few = _spread([name for name, spec in lab.spec.nodes.items() if spec.forwards])
    with observing(lab, only=few) as observer:
        if until.quiet_ns is None:
            yield Awaited(lab, network, observer, few)
        else:
            yield Quiet(lab, until, observer, few, at_start=at_start)


def await_converged(lab: LiveLab, progress: Progress = silent) -> None:
    """Wait until the tables of all routers with daemons are right, or quiet."""
    with awaiting(lab, at_start=False) as awaited:
        converged(lab, awaited, time.monotonic(), progress)


def converged(
    lab: LiveLab, awaited: Awaited | Quiet | None, began_s: float, progress: Progress = silent
) -> Converged | None:
    """Wait until the tables of all routers with daemons are right, or quiet; None without daemons.

    `began_s` is the monotonic time at which the daemons were started. Raises DelaylabError if a
    daemon has ended, or if the tables are not right in time.
    """
    if not lab.spec.has_daemons:
        return None
    routers = len(lab.spec.routers) or sum(spec.forwards for spec in lab.spec.nodes.values())
    if awaited is None:
        return Converged(routers, 0.0, "the lab says `expect: none`")
    progress(f"waiting for the routes of {routers} routers", 0)
    return awaited.wait(began_s, began_s + patience_ns(lab.spec) / SECOND_NS)


def _until(lab: LiveLab) -> Until:
    """Return the convergence rule that `up` waits for, with all daemons running."""
    until = until_of(lab.spec)
    if until.quiet_ns is not None:
        return until
    return until_with(lab.spec, topology(lab.spec, lab.plan), faults(lab, daemons=False))


def _spread(routers: Sequence[str]) -> Sequence[str] | None:
    """Return some routers in place of many, from all over the lab file; None if there are few."""
    return routers[:: len(routers) // FEW] if len(routers) >= MANY else None


def _leads_on(change: Change) -> bool:
    """Return True for a route over another node."""
    return isinstance(change, TableChange) and any(hop.gateway for hop in change.hops or ())


class _ProgramWatch:
    """The search for programs of a lab that have ended.

    To answer, each node's agent needs a CPU. While 852 routers find their routes, asking all of
    them takes a second, so the nodes are asked for at most a twentieth of the time.
    """

    def __init__(self, lab: LiveLab) -> None:
        self._lab, self._next_s = lab, 0.0

    def look(self, *, last: bool = False) -> None:
        """Raise DelaylabError if a program has ended.

        Return at once if the nodes were asked a short time ago, unless this is the `last` time.
        """
        began_s = time.monotonic()
        if began_s < self._next_s and not last:
            return
        for node, states in programs.states(self._lab).items():
            for program in states:
                if program.is_dead:
                    raise _ended(self._lab, node, program)
        took_s = time.monotonic() - began_s
        self._next_s = time.monotonic() + took_s * PAUSE


def _follow(
    observer: Observer, verified: Verified, watch: _ProgramWatch, deadline_s: float
) -> bool:
    """Take what has changed, if anything; raise DelaylabError if that cannot end well."""
    left_s = deadline_s - time.monotonic()
    changes = observer.changes(max(0.0, min(LOOK_EVERY_S, left_s)))
    verified.take(changes)
    if changes or verified.is_right:
        return True
    watch.look(last=left_s <= 0)
    if left_s <= 0:
        what = f"the tables were not right in time: {verified.in_words}"
        raise DelaylabError(what, fix="give the daemons more time: `routing: {timeout: 5min}`")
    return False


def _ended(lab: LiveLab, node: str, program: ProgramState) -> DelaylabError:
    """Return the error of a daemon that has ended, with its last words or what it lacked."""
    printed = programs.output(lab, node, program.name).decode(errors="replace").strip()
    what = f"program {program.name} of node {node} {program.how}, so there are no routes"
    lines = printed.splitlines()[-LAST_LINES:]
    if lacked := lacking.why("\n".join(lines)):
        reason, fix = lacked
        return DelaylabError(f"{what}: {reason or lines[-1]}", f"node {node}", fix)
    fix = f"its last output: {lines[-1]}" if lines else "it printed nothing"
    return DelaylabError(what, f"node {node}", fix)
