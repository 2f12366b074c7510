"""Questions to a lab's routers: their faults, silent links, waits for a CPU, adjacencies."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import suppress

from delaylab.agent.session import Session
from delaylab.agent.wire.sessions import Exec
from delaylab.errors import DelaylabError
from delaylab.forwarding.topology import End, Faults
from delaylab.lab.programs import programs
from delaylab.lab.running import LiveLab
from delaylab.resolve.lab import Step
from delaylab.routing import bird, router
from delaylab.routing.adjacencies import changes as changes_in
from delaylab.spec.routing.model import RoutingSpec

PRINTS_S = 60.0
"""Seconds that a router has for the command after which its daemons print their changes."""


def faults_after(step: Step) -> Faults:
    """Return what is out of order after a step of a timeline."""
    ends = {
        state: frozenset(end for end, found in step.ends.items() if found == state)
        for state in ("down", "silent")
    }
    return Faults(
        down=ends["down"],
        silent=ends["silent"],
        nodes=step.dead | step.frozen,
        costs=step.costs,
        mute=frozenset(node for node, program in step.not_running if program in router.SPEAKERS),
    )


def silent_devices(lab: LiveLab, silent: Collection[End]) -> set[End]:
    """Return the devices at links over which nothing comes although their carrier is there."""
    links = {link for _, link in silent}
    return {
        (attachment.node, attachment.device)
        for attachment in lab.plan.every_attachment
        if attachment.link in links
        and (
            len(lab.plan.on_link(attachment.link)) == 2
            or (attachment.node, attachment.link) in silent
        )
    }


def devices_at(lab: LiveLab, ends: Collection[End]) -> set[End]:
    """Return the devices at some nodes' ends of links."""
    return {
        (attachment.node, attachment.device)
        for attachment in lab.plan.every_attachment
        if (attachment.node, attachment.link) in ends
    }


def waits(lab: LiveLab) -> dict[str, int]:
    """Return how long each router's programs waited for a CPU so far, in ns."""
    return {
        node: sum(program.waited_ns for program in states)
        for node, states in programs.states(lab).items()
        if lab.spec.nodes[node].has_daemons or lab.spec.nodes[node].forwards
    }


def print_adjacencies(lab: LiveLab) -> None:
    """Have the daemons of a lab of many routers print the changes of their adjacencies, too.

    A router that does not run is left out: it prints nothing, and its neighbours do.
    """
    routed = {
        name: spec.routing
        for name, spec in lab.spec.nodes.items()
        if isinstance(spec.routing, RoutingSpec)
    }
    if len(routed) < router.MANY:
        return
    silent = [name for name, each in routed.items() if each.by == "bird" and each.ospf is not None]
    asked: list[Session] = []
    for name in silent:
        with suppress(DelaylabError):
            session = lab.node_session(name)
            asked.append(session)
            session.start(Exec(argv=bird.PRINT_EVENTS))
    for session in asked:
        with suppress(DelaylabError):
            session.finish(PRINTS_S)
        session.close()


def adjacencies(lab: LiveLab) -> Iterator[tuple[int, str, str]]:
    """Yield each adjacency change, a neighbour found or given up: the time, the router, the daemon.

    Times are by this machine's clock, so routers with a kernel of their own are left out.
    """
    for node in lab.spec.nodes:
        of_other_kernel = any(each.other_kernel for each in lab.plan.nodes[node].attachments)
        for program in lab.plan.nodes[node].programs:
            if program in router.SPEAKERS and not of_other_kernel:
                text = programs.output(lab, node, program).decode(errors="replace")
                yield from ((at_ns, node, program) for at_ns in changes_in(text))
