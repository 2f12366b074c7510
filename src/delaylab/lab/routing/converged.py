"""Readiness of routing daemons: every forwarding table equals the shortest paths of the network."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from delaylab.errors import DelaylabError
from delaylab.forwarding.expected import expected_tables
from delaylab.forwarding.tables import Table
from delaylab.forwarding.topology import Topology, parts
from delaylab.forwarding.verified import Verified
from delaylab.lab.programs import programs
from delaylab.lab.routing.faults import faults
from delaylab.lab.routing.observer import Observer, observing
from delaylab.lab.routing.ready import Converged
from delaylab.lab.running import LiveLab
from delaylab.plan.routed_topology import (
    judged,
    topology,
    why_unforeseen,
    why_unforeseen_with,
)
from delaylab.progress import Progress, silent
from delaylab.spec.routing.model import RoutingSpec

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

    def wait(self, deadline_s: float) -> None:
        """Return when the tables of all routers are right.

        Raises DelaylabError if a daemon has ended, or if they are not right in time.
        """
        if self._few is None:
            self._follow(self._verified(self._observer, self._wanted), deadline_s)
            return
        few = {node: table for node, table in self._wanted.items() if node in self._few}
        nearly = sum(map(len, few.values())) * NEARLY
        self._follow(self._verified(self._observer, few), deadline_s, nearly)
        with observing(self._lab) as observer:
            self._follow(self._verified(observer, self._wanted), deadline_s)

    def _verified(self, observer: Observer, wanted: Mapping[str, Table]) -> _ComparedTables:
        compared = judged(self._lab.spec, self._lab.plan)
        return _ComparedTables(observer, Verified(wanted, observer.tables, compared))

    def _follow(self, compared: _ComparedTables, deadline_s: float, nearly: float = 0) -> None:
        """Return when tables are right, or rest while fewer than `nearly` routes are wrong."""
        while not compared.verified.is_right:
            changed = _follow(compared.observer, compared.verified, self._watch, deadline_s)
            if not changed and compared.verified.wrong < nearly:
                return

    @property
    def routers(self) -> int:
        """Return the number of routers whose tables are compared."""
        return len(self._wanted)

    @property
    def parts(self) -> tuple[tuple[str, ...], ...]:
        """Return the nodes of each part of the network, one unless it is cut."""
        return tuple(tuple(sorted(each)) for each in parts(self._network))


@contextmanager
def awaiting(lab: LiveLab) -> Iterator[Awaited | None]:
    """Observe a lab's routers, whose daemons may start later; None if no tables are foreseen.

    Call it before the daemons start: they would compete with its first reading for the CPUs.
    """
    if not _settings(lab) or _why_unforeseen(lab) is not None:
        yield None
        return
    network = topology(lab.spec, lab.plan)
    few = _spread(list(network.loopbacks))
    with observing(lab, only=few) as observer:
        yield Awaited(lab, network, observer, few)


def await_converged(lab: LiveLab, progress: Progress = silent) -> None:
    """Wait until the tables of all routers with daemons are right."""
    with awaiting(lab) as awaited:
        converged(lab, awaited, time.monotonic(), progress)


def converged(
    lab: LiveLab, awaited: Awaited | None, began_s: float, progress: Progress = silent
) -> Converged | None:
    """Wait until the tables of all routers with daemons are right; None if there are none.

    `began_s` is the monotonic time at which the daemons were started. Raises DelaylabError if a
    daemon has ended, or if the tables are not right in time.
    """
    settings = _settings(lab)
    if not settings:
        return None
    if awaited is None:
        return Converged(len(settings), 0.0, _why_unforeseen(lab))
    progress(f"waiting for the routes of {len(settings)} routers", 0)
    awaited.wait(began_s + max(each.timeout.ns for each in settings) / 1e9)
    return Converged(awaited.routers, time.monotonic() - began_s, parts=awaited.parts)


def _why_unforeseen(lab: LiveLab) -> str | None:
    """Return why the right tables are not known while all daemons run; None if they are."""
    why = why_unforeseen(lab.spec)
    if why is not None:
        return why
    return why_unforeseen_with(topology(lab.spec, lab.plan), faults(lab, daemons=False))


def _settings(lab: LiveLab) -> list[RoutingSpec]:
    nodes = lab.spec.nodes.values()
    return [spec.routing for spec in nodes if isinstance(spec.routing, RoutingSpec)]


def _spread(routers: Sequence[str]) -> Sequence[str] | None:
    """Return some routers in place of many, from all over the lab file; None if there are few."""
    return routers[:: len(routers) // FEW] if len(routers) >= MANY else None


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
                    what = f"program {program.name} of node {node} {program.how}"
                    words = _last_words(self._lab, node, program.name)
                    raise DelaylabError(f"{what}, so there are no routes", f"node {node}", words)
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


def _last_words(lab: LiveLab, node: str, program: str) -> str:
    """Return the last line that a program printed."""
    lines = programs.output(lab, node, program).decode(errors="replace").strip().splitlines()
    return f"its last output: {lines[-1]}" if lines else "it printed nothing"
