"""The outcome of an event in a network with routing daemons, and how much the CPUs caused."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from delaylab.forwarding.detours import Detours
from delaylab.forwarding.fates import Interval
from delaylab.forwarding.service import ServiceOutage
from delaylab.forwarding.tables import Change, LinkChange, Lost, TableChange
from delaylab.forwarding.until import Until
from delaylab.forwarding.verified import TablesVerdict
from delaylab.verdicts.effects import ChangesAfter, effects
from delaylab.verdicts.states import RouterState, states_of

MOST_WAITED = 0.10
"""The largest share of a convergence that daemons may have waited for a CPU."""


@dataclass(frozen=True)
class Waited:
    """The router whose daemons waited longest for a CPU, and all of them, in ns.

    The time is that in which their threads were ready to run and did not (the kernel's run delay).
    """

    router: str
    longest_ns: int
    all_ns: int


@dataclass(frozen=True)
class Course:
    """The routers over time, from an event at `event_ns` until they were no longer watched.

    `off` are the nodes that did not run. `states` has the times in which routers had wrong routes
    or could be part of a loop. `detours` compares the ways before the event with those at the end.
    """

    event_ns: int
    until_ns: int
    routers: tuple[str, ...]
    off: frozenset[str]
    states: tuple[RouterState, ...]
    detours: Detours = field(default_factory=Detours)


def course(
    event_ns: int,
    until_ns: int,
    routers: Iterable[str],
    off: Iterable[str],
    wrong: Iterable[tuple[int, str, int]],
    intervals: Iterable[Interval],
    ways: Detours,
) -> Course:
    """Return the routers over time; `wrong` has the numbers of their wrong routes, by time."""
    states = states_of(wrong, intervals, event_ns, until_ns)
    return Course(event_ns, until_ns, tuple(sorted(routers)), frozenset(off), tuple(states), ways)


@dataclass(frozen=True)
class Trouble:
    """The trouble that packets met after an event, whoever caused it (`forwarding/during.py`).

    `outages` are of pairs of nodes, None if they were not followed. `carriers_ns` is when the last
    carrier fell that the event took; from the order to then is the lab's lag.
    """

    intervals: Sequence[Interval] = ()
    outages: Sequence[ServiceOutage] | None = None
    carriers_ns: int | None = None


@dataclass(frozen=True)
class Outcome:
    """The changes that followed an event; times are in ns since 1970, by the clock of stamps.

    `event_ns` is when the event began. `detected_ns` is the first change that a router saw: of a
    carrier, of an adjacency, or of a table. `verdict` says by which rule the network had
    converged, and when all tables were right: at
    `event_ns` if the event made none of them wrong.
    `holes` and `loops` are those that there were after it; those that began before it have that
    beginning. `outages` and `carriers_ns` are as in `Trouble`. `lost` are routers of which changes
    were lost.
    """

    event: str
    event_ns: int
    detected_ns: int | None
    verdict: TablesVerdict
    effect: ChangesAfter
    holes: tuple[Interval, ...]
    loops: tuple[Interval, ...]
    lost: tuple[str, ...]
    waited: Waited | None
    course: Course
    outages: tuple[ServiceOutage, ...] | None = None
    carriers_ns: int | None = None

    @property
    def until(self) -> Until:
        """Return the convergence rule: all tables right, or none changed for a time."""
        return self.verdict.until

    @property
    def converged_ns(self) -> int | None:
        """Return when the network had converged by the rule; None if it did not in time.

        With a quiet time that is the last change of a table, and the event if none changed.
        """
        if self.until.quiet_ns is None:
            return self.right_ns
        if not self.verdict.is_quiet:
            return None
        changes = self.effect.changes
        return self.event_ns if changes is None else max(changes.last_ns, self.event_ns)

    @property
    def right_ns(self) -> int | None:
        """Return the time of the change that made all tables right; None if they never were."""
        return self.verdict.right_ns

    @property
    def is_cpu_bound(self) -> bool:
        """Return True if waiting for CPUs may explain more than a tenth of the convergence."""
        if self.waited is None or self.converged_ns is None:
            return False
        return self.waited.longest_ns > MOST_WAITED * (self.converged_ns - self.event_ns)

    def after_s(self, at_ns: int | None) -> float | None:
        """Return a time as seconds since the event; None stays None."""
        return None if at_ns is None else (at_ns - self.event_ns) / 1e9


def outcome(
    event: str,
    over_time: Course,
    changes: Sequence[Change],
    trouble: Trouble,
    verdict: TablesVerdict,
    waited: Waited | None,
    adjacencies_ns: Iterable[int] = (),
) -> Outcome:
    """Return what followed an event, from all changes since, which come by time.

    `adjacencies_ns` are the times at which daemons found neighbours or gave them up.
    """
    event_ns = over_time.event_ns
    since = [change for change in changes if change.at_ns >= event_ns]
    seen = [change.at_ns for change in since if isinstance(change, TableChange | LinkChange)]
    seen += [at_ns for at_ns in adjacencies_ns if at_ns >= event_ns]
    return Outcome(
        event=event,
        event_ns=event_ns,
        detected_ns=min(seen, default=None),
        verdict=verdict,
        effect=effects(since, [event_ns])[0],
        holes=tuple(each for each in trouble.intervals if each.kind == "black hole"),
        loops=tuple(each for each in trouble.intervals if each.kind == "loop"),
        lost=tuple(sorted({change.node for change in since if isinstance(change, Lost)})),
        waited=waited,
        course=over_time,
        outages=None if trouble.outages is None else tuple(trouble.outages),
        carriers_ns=trouble.carriers_ns,
    )


def waited_between(before: Mapping[str, int], after: Mapping[str, int]) -> Waited | None:
    """Return how long daemons waited for a CPU between two readings, by router, in ns.

    A router whose daemons were restarted meanwhile counts from its new beginning. One that is not
    in both readings, since it did not answer in time, is left out.
    """
    spent = {
        router: ns - before[router] if ns >= before[router] else ns
        for router, ns in after.items()
        if router in before
    }
    if not spent:
        return None
    longest = max(spent, key=lambda router: spent[router])
    return Waited(longest, spent[longest], sum(spent.values()))
