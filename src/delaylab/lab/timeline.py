"""The timeline of a running lab: link engines and the agents of its nodes carry it out.

Both get all orders before the first event, and count from the same time.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from delaylab.agent.wire.programs import TimedDeed, TimedDeedDone
from delaylab.lab.links import link_changes, link_engines
from delaylab.lab.programs import programs
from delaylab.lab.routing import link_costs
from delaylab.lab.routing.link_costs import CostChange
from delaylab.lab.running import LiveLab
from delaylab.machines.other_clock import OtherClock
from delaylab.records.links import EngineReport
from delaylab.resolve.agent_names import node_agent
from delaylab.resolve.lab import CostOrder, Lab, Step

LEAD_NS = 50_000_000
"""The time from an order to begin until the timeline begins, and that for each node with orders."""
LEAD_OF_NODE_NS = 5_000_000
ORDERS_S = 60.0
"""Seconds that the last orders may take, such as the start of a daemon, after their time."""


@dataclass(frozen=True)
class Happened:
    """A step of the timeline as it happened: between two times, in ns since 1970.

    `planned_ns` is the time of the timeline. Both others are None if nothing changed, such as a
    link that was so before. `failed` says what could not be done.
    """

    step: Step
    planned_ns: int
    began_ns: int | None
    done_ns: int | None
    failed: str | None = None


class Timeline:
    """The timeline of a lab, which has begun at `began_ns`, in ns since 1970."""

    def __init__(self, lab: LiveLab, began_ns: int, clocks: Mapping[str, int]) -> None:
        self._lab, self.began_ns, self._ahead_ns = lab, began_ns, clocks
        self.steps = lab.spec.steps

    def planned_ns(self, step: Step) -> int:
        """Return the time at which a step is to happen."""
        return self.began_ns + step.at_ns

    def happened(self) -> list[Happened]:
        """Return how each step happened; wait for the orders that are under way."""
        nodes = sorted(nodes_of(self._lab.spec))
        done = programs.scheduled(self._lab, nodes, ORDERS_S) if nodes else {}
        by_time: dict[tuple[str, int], list[TimedDeedDone]] = defaultdict(list)
        for node, found in done.items():
            ahead_ns = self._ahead_ns.get(node, 0)
            for each in found.done:
                here = each.model_copy(
                    update={
                        "at_ns": each.at_ns - ahead_ns,
                        "began_ns": each.began_ns - ahead_ns,
                        "done_ns": each.done_ns - ahead_ns,
                    }
                )
                by_time[node, here.at_ns].append(here)
        reports = link_engines.reports(self._lab)
        return [self._happened(step, by_time, reports) for step in self.steps]

    def _happened(
        self,
        step: Step,
        done: Mapping[tuple[str, int], list[TimedDeedDone]],
        reports: Iterable[EngineReport],
    ) -> Happened:
        at_ns = self.planned_ns(step)
        times, failed = list(_times_of_links(step, at_ns, reports)), []
        for node, wanted in Counter(_nodes_of(self._lab.spec, step)).items():
            carried = done.get((node, at_ns), [])
            if len(carried) < wanted:
                failed.append(f"node {node}: it was not done in time")
            failed += [f"node {node}: {each.failed}" for each in carried if each.failed]
            times += [at for each in carried for at in (each.began_ns, each.done_ns)]
        found = Happened(step, at_ns, None, None, "; ".join(failed) or None)
        return replace(found, began_ns=min(times), done_ns=max(times)) if times else found


def _times_of_links(step: Step, at_ns: int, reports: Iterable[EngineReport]) -> Iterator[int]:
    """Yield when the ends of a step's links changed: for each the first time since it was due."""
    ends = {(change.node, change.link) for change in step.changes if change.node is not None}
    for report in reports:
        for direction in report.directions:
            if (direction.node, direction.link) not in ends or direction.receives:
                continue
            changed = [
                at
                for downtime in direction.downtimes
                for at in (downtime.since_ns, downtime.until_ns)
                if at is not None and at >= at_ns
            ]
            if changed:
                yield min(changed)


def at_rest(lab: LiveLab) -> None:
    """Restore what the lab file says of links, before the part of a trial that has the timeline.

    A timeline that does not wait until the lab is ready begins here, as it did when the lab began.
    """
    if lab.spec.counts_from_ready:
        link_changes.hold_timeline(lab)
    else:
        link_changes.start_timeline(lab)


def begin(lab: LiveLab) -> Timeline:
    """Begin the timeline of a lab, in place of the one that may be under way."""
    planned = lab.spec.steps
    nodes = sorted(nodes_of(lab.spec))
    clocks = {
        node: _ahead_ns(lab, node) if _other_kernel(lab, node) else lab.ahead_ns(node_agent(node))
        for node in nodes
    }
    began_ns = time.time_ns() + LEAD_NS + len(nodes) * LEAD_OF_NODE_NS
    orders: dict[str, list[TimedDeed]] = {node: [] for node in nodes}
    for step in planned:
        for order in step.orders:
            at_ns = began_ns + order.at_ns + clocks.get(order.node, 0)
            orders[order.node].append(TimedDeed(at_ns, order.do, order.programs))
        for told in _told(lab.spec, step):
            at_ns = began_ns + told.at_ns + clocks.get(told.node, 0)
            argv = link_costs.command(lab, told.node, told.link, told.cost)
            orders[told.node].append(TimedDeed(at_ns, argv=argv))
    if not any(step.events for step in planned):
        link_changes.start_timeline(lab)
        return Timeline(lab, time.time_ns(), clocks)
    link_changes.start_timeline(lab, began_ns)
    programs.schedule(lab, orders)
    return Timeline(lab, began_ns, clocks)


def restore(lab: LiveLab) -> None:
    """Undo what the events of a timeline did to nodes and programs, and drop those to come."""
    nodes = nodes_of(lab.spec)
    if not nodes:
        return
    programs.schedule(lab, dict.fromkeys(nodes, ()))
    states = programs.node_states(lab, only=nodes)
    for node, found in states.items():
        ended = any(each.is_dead or each.frozen for each in found.programs)
        if found.node != "running" or ended:
            programs.control(lab, node, "continue")
            programs.control(lab, node, "start")
    given = {(told.node, told.link) for step in lab.spec.steps for told in _told(lab.spec, step)}
    if given:
        links = lab.spec.links
        costs = [CostChange(link, node, links[link].cost_of(node)) for node, link in sorted(given)]
        link_costs.change(lab, costs)


def nodes_of(lab: Lab) -> set[str]:
    """Return the nodes that have events of their own in a lab's timeline."""
    return {node for step in lab.steps for node in _nodes_of(lab, step)}


def _nodes_of(lab: Lab, step: Step) -> Iterator[str]:
    """Yield the node of each order of a step."""
    yield from (order.node for order in step.orders)
    yield from (told.node for told in _told(lab, step))


def _told(lab: Lab, step: Step) -> Iterator[CostOrder]:
    """Yield the costs of a step that daemons can be told: other nodes have none."""
    for told in step.told:
        routing = lab.routers.get(told.node)
        if routing is not None and (routing.ospf or routing.isis):
            yield told


def _other_kernel(lab: LiveLab, node: str) -> bool:
    return any(each.other_kernel for each in lab.plan.nodes[node].attachments)


def _ahead_ns(lab: LiveLab, node: str) -> int:
    """Return how far the clock of a node with a kernel of its own is ahead of this one."""
    session = lab.node_session(node)
    try:
        return OtherClock(session).ahead_ns()
    finally:
        session.close()
