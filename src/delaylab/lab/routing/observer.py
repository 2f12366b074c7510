"""The observer of a running lab: the forwarding tables of all nodes, and what changes in them.

One process hears of the routes, next-hop objects and interfaces of all nodes in this kernel, and
stamps what it hears by the clock of the probes' stamps. A node with a kernel of its own, a virtual
machine, is observed by the agent inside.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from delaylab.agent.observed_tables import ObservedTables
from delaylab.agent.observing_requests import Observe
from delaylab.agent.result import AgentError, AgentGone, Result
from delaylab.agent.session import Session
from delaylab.agent.stream import ready
from delaylab.agent.wire.observing import ObserveDone, ObservePlace
from delaylab.forwarding.tables import Change, LinkChange, Lost, Table, TableChange, apply
from delaylab.lab.running import LiveLab
from delaylab.machines import Machine
from delaylab.machines.other_clock import OtherClock

READY_S = 60
"""The patience for the tables at the start: a lab of 852 routers has 1.8 million routes."""


@dataclass
class _Source:
    """A session that observes nodes, and the clock of its stamps."""

    session: Session
    result: Result[ObserveDone]
    tables: ObservedTables
    clock: OtherClock | None = None


class Observer:
    """The forwarding tables of a lab's nodes as far as `changes` has told.

    `tables` has the table of each node, `links` the state of each of its devices, and `lost` the
    times at which messages about a node were lost. A node that ends has no routes any more, and its
    devices are down. `bounds` has the nodes with a clock of their own, each with the most by which
    times of its changes are wrong, in ns.
    """

    def __init__(self, sources: list[_Source]) -> None:
        self.tables: dict[str, Table] = {}
        self.links: dict[tuple[str, str], LinkChange] = {}
        self.lost: list[Lost] = []
        self._sources = sources
        for source in sources:
            for nodes in source.tables.nodes:
                self.tables |= {node: {} for node in nodes}
            source.tables.take_start(source.result.parts, self.tables, self.links)

    @property
    def bounds(self) -> dict[str, int]:
        """Return the nodes with a clock of their own, and how wrong their times can be, in ns."""
        return {
            node: source.clock.bound_ns
            for source in self._sources
            if source.clock is not None
            for nodes in source.tables.nodes
            for node in nodes
        }

    def changes(self, timeout_s: float) -> list[Change]:
        """Return what has changed, by time; wait at most so long for the first change.

        Raises AgentError if the observation has failed, or if all nodes are gone.
        """
        end_s = time.monotonic() + timeout_s
        while True:
            left_s = max(0.0, end_s - time.monotonic())
            if found := self._heard(left_s):
                return found
            if time.monotonic() >= end_s:
                return []

    def settled(self, quiet_s: float, timeout_s: float) -> list[Change]:
        """Return all changes until none has come for `quiet_s`, or for `timeout_s` at most."""
        end_s = time.monotonic() + timeout_s
        found: list[Change] = []
        while (left_s := end_s - time.monotonic()) > 0:
            more = self.changes(min(quiet_s, left_s))
            if not more:
                break
            found += more
        return found

    def stop(self) -> tuple[list[Change], ObserveDone]:
        """End the observation; return the last changes, and what was read in this kernel."""
        for source in self._sources:
            source.session.stop()
        for source in self._sources:
            source.session.finish(READY_S)
        found = self._followed([change for each in self._sources for change in _taken(each)])
        counts = [source.result.done for source in self._sources if source.clock is None]
        return found, counts[0] if counts else self._sources[0].result.done

    def _heard(self, timeout_s: float) -> list[Change]:
        """Return what came first; nothing after `timeout_s`, or if it explained no change yet."""
        by_session = {source.session: source for source in self._sources}
        waiting = [session for session in by_session if session.has_frames]
        found: list[Change] = []
        for session in waiting or ready(by_session, timeout_s):
            source = by_session[session]
            try:
                ended = session.poll_done()
            except AgentGone:
                found += self._gone(source)
                continue
            if ended:
                raise AgentError("the observation ended by itself", session.label)
            found += _taken(source)
        return self._followed(found)

    def _gone(self, source: _Source) -> list[Change]:
        """Return the changes by which the nodes of an agent that is gone lose all they have."""
        self._sources.remove(source)
        if not self._sources or source.clock is None:
            raise AgentGone(
                "the observer is gone: what changes is no longer seen", source.session.label
            )
        at_ns = time.time_ns()
        nodes = {node for nodes in source.tables.nodes for node in nodes}
        links = [
            replace(link, at_ns=at_ns, up=False, admin_up=False)
            for link in self.links.values()
            if link.node in nodes and (link.up or link.admin_up)
        ]
        routes = [
            TableChange(at_ns, node, prefix, None) for node in nodes for prefix in self.tables[node]
        ]
        return [*links, *routes]

    def _followed(self, changes: list[Change]) -> list[Change]:
        """Make the changes to the tables, and return them by time."""
        changes.sort(key=lambda change: change.at_ns)
        for change in changes:
            if isinstance(change, TableChange):
                apply(self.tables, change)
            elif isinstance(change, LinkChange):
                self.links[change.node, change.device] = change
            else:
                self.lost.append(change)
        return changes


def _taken(source: _Source) -> list[Change]:
    """Return the changes that have come, by this kernel's clock."""
    found = source.tables.take(source.result.parts)
    if source.clock is None or not found:
        return found
    ahead_ns = source.clock.ahead_ns()
    return [replace(change, at_ns=change.at_ns - ahead_ns) for change in found]


@contextmanager
def observing(
    lab: LiveLab, room_bytes: int = 4 << 20, only: Collection[str] | None = None
) -> Iterator[Observer]:
    """Observe the forwarding tables of all nodes, or of some; `tables` has those at the start.

    `room_bytes` are the bytes of messages about a node that may wait in the kernel to be read.
    Raises AgentError if a node cannot be observed, such as one that has ended.
    """
    sources: list[_Source] = []
    sessions: list[Session] = []
    try:
        by_machine, apart = _places(lab, lab.plan.nodes if only is None else only)
        for machine, here in by_machine.items():
            session = machine.session()
            sessions.append(session)
            places = [ObservePlace(nodes[0], lab.pid(agent)) for agent, nodes in here.items()]
            request = Observe(places=places, room_bytes=room_bytes)
            tables = ObservedTables(list(here.values()), session.label)
            if (other := machine.clock()) is not None:
                sessions.append(other.session)
            sources.append(_Source(session, session.start(request), tables, other))
        for agent, nodes in apart.items():
            session, clock = lab.session(agent), lab.session(agent)
            sessions += session, clock
            request = Observe(places=[ObservePlace(nodes[0])], room_bytes=room_bytes)
            result = session.start(request)
            sources.append(
                _Source(session, result, ObservedTables([nodes], session.label), OtherClock(clock))
            )
        for source in sources:
            _begun(lab, source)
        yield Observer(sources)
    finally:
        for session in sessions:
            session.close()


def _begun(lab: LiveLab, source: _Source) -> None:
    """Return once the tables of a source's nodes are read; name a node that has ended."""
    try:
        source.session.event(READY_S)
        if source.clock is not None:
            source.clock.ahead_ns()
    except AgentError as error:
        ended = set(lab.ended())
        for nodes in source.tables.nodes:
            if (agent := lab.plan.nodes[nodes[0]].stack) in ended:
                fix = "delaylab ps says what of a lab is dead"
                raise AgentGone("its process has ended", agent, fix) from error
        raise


def _places(
    lab: LiveLab, nodes: Collection[str]
) -> tuple[dict[Machine, dict[str, list[str]]], dict[str, list[str]]]:
    """Return the agents of nodes in each machine's kernel, and those with a kernel of their own.

    Each agent has the nodes in its stack.
    """
    by_machine: dict[Machine, dict[str, list[str]]] = {}
    apart: dict[str, list[str]] = {}
    for name in nodes:
        node = lab.plan.nodes[name]
        if any(each.other_kernel for each in node.attachments):
            apart.setdefault(node.stack, []).append(name)
        else:
            here = by_machine.setdefault(lab.machine_of(node.stack), {})
            here.setdefault(node.stack, []).append(name)
    return by_machine, apart
