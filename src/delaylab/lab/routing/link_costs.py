"""Costs of links in a running lab: set in the configuration of routing daemons, and read back."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

from delaylab.agent.session import Session
from delaylab.agent.wire.sessions import Exec
from delaylab.errors import BadInput, DelaylabError
from delaylab.forwarding.topology import End
from delaylab.lab.running import LiveLab
from delaylab.resolve.agent_names import node_agent
from delaylab.resolve.lab import Lab
from delaylab.routing import costs
from delaylab.routing.writers import has_own_configuration

LEAST, MOST = 1, 65_535
FORM = "l12=100, or l12:r1=100 for the end of r1"


@dataclass(frozen=True)
class CostChange:
    """Another cost of a link: of all ends, or of that of one node."""

    link: str
    node: str | None
    cost: int

    @classmethod
    def parse(cls, text: str) -> CostChange:
        """Read `l12=100` or `l12:r1=100`; raise BadInput for anything else."""
        end, equals, number = text.partition("=")
        link, of, node = end.partition(":")
        if not equals or not link or (of and not node):
            raise BadInput(f"{text!r} is no cost of a link", fix=f"write {FORM}")
        return cls(link, node or None, checked_cost(number))

    def ends(self, lab: Lab) -> list[End]:
        """Return the router ends of the link whose cost changes."""
        members = lab.links[self.link].members if self.node is None else (self.node,)
        return [(node, self.link) for node in members if node in lab.routers]


def checked_cost(text: str) -> int:
    """Return a cost of the command line; raise BadInput unless it is 1 to 65535."""
    if not text.isdecimal() or not LEAST <= int(text) <= MOST:
        raise BadInput(f"a cost is {LEAST} to {MOST}, got {text!r}")
    return int(text)


def require(lab: Lab, change: CostChange) -> None:
    """Raise BadInput if a lab does not have such a link, or if no daemon can change its cost."""
    link = lab.links.get(change.link)
    if link is None:
        raise BadInput(f"no link {change.link!r}", fix=f"links: {', '.join(lab.links)}")
    if change.node is not None and change.node not in link.members:
        what = f"{change.node!r} is not on link {change.link!r}"
        raise BadInput(what, fix=f"members: {', '.join(link.members)}")
    if (why := _why_not(lab, change)) is not None:
        raise BadInput(f"the cost of link {change.link!r} cannot change: {why}")


def _why_not(lab: Lab, change: CostChange) -> str | None:
    """Return why the cost of a link cannot change; None if it can."""
    if not lab.has_daemons:
        return "delaylab worked the routes of this lab out before it started, and they stay"
    if not lab.routers:
        return "its routers run daemons of your own: tell them yourself, by `delaylab exec`"
    ends = change.ends(lab)
    if not ends:
        return "no node of it has routing daemons"
    for node, _ in ends:
        routing = lab.routers[node]
        if routing.ospf is None and routing.isis is None:
            return f"{node} speaks BGP alone, which has no costs of links"
        if routing.by == "bird" and has_own_configuration(routing.by, lab.nodes[node].files):
            return f"{node} has a configuration file of its own"
    return None


def change(lab: LiveLab, wanted: Iterable[CostChange]) -> tuple[int, int]:
    """Tell routers other costs of links, at one moment; return the times before and after it.

    They are in ns since 1970, by this machine's clock. Raises BadInput for what cannot change, and
    DelaylabError if a daemon does not take its cost.
    """
    given = list(wanted)
    for each in given:
        require(lab.spec, each)
    now = {end: each.cost for each in given for end in each.ends(lab.spec)}
    sessions: dict[str, Session] = {}
    texts = {node: "".join(script(lab, now, node)) for node in dict.fromkeys(n for n, _ in now)}
    try:
        for node in texts:
            sessions[node] = lab.node_session(node)
        began_ns = time.time_ns()
        asked = [
            (node, session, session.start(Exec(argv=["sh", "-c", texts[node]])))
            for node, session in sessions.items()
        ]
        for node, session, result in asked:
            session.finish(costs.WITHIN_S * 2)
            if result.done.exit != 0:
                said = bytes(result.stderr or result.stdout).decode(errors="replace").split("\n")
                raise DelaylabError(
                    f"the daemons of {node} did not take the cost", f"node {node}", said[0]
                )
        return began_ns, time.time_ns()
    finally:
        for session in sessions.values():
            session.close()


def command(lab: LiveLab, node: str, link: str, cost: int) -> list[str]:
    """Return the command that tells a router the cost of its end of a link."""
    return ["sh", "-c", "".join(script(lab, {(node, link): cost}, node))]


def script(lab: LiveLab, wanted: Mapping[End, int], node: str) -> Iterator[str]:
    """Yield the scripts that tell a router the costs of its ends."""
    for (of, link), cost in wanted.items():
        if of == node:
            device = lab.plan.attachment(node, link).device
            yield costs.script(lab.spec.routers[node], tuple(lab.spec.ip), link, device, cost)


def now(lab: LiveLab, link: str | None = None) -> dict[str, dict[str, int]]:
    """Return the cost of each router's end of the links that routers have costs of, by link.

    With `link`, of this one alone.
    """
    spoken = [node for node, each in lab.spec.routers.items() if each.ospf or each.isis]
    changed = told(lab) if spoken else {}
    found = {
        name: {
            node: changed.get((node, name), each.cost_of(node))
            for node in each.members
            if node in spoken
        }
        for name, each in lab.spec.links.items()
        if link in (None, name)
    }
    return {name: ends for name, ends in found.items() if ends}


def told(lab: LiveLab) -> dict[End, int]:
    """Return the costs that routers were told since the lab began, by their own notes.

    A router that does not answer is left out: nobody hears its costs.
    """
    asked = []
    for node, routing in lab.spec.routers.items():
        if routing.ospf is None and routing.isis is None:
            continue
        if node_agent(node) not in lab.keeper.agents:
            continue
        with suppress(DelaylabError):
            session = lab.node_session(node)
            asked.append((node, session, session.start(Exec(argv=["cat", costs.TOLD]))))
    found: dict[End, int] = {}
    for node, session, result in asked:
        with suppress(DelaylabError):
            session.finish(costs.WITHIN_S)
            text = bytes(result.stdout).decode(errors="replace")
            found |= {(node, link): cost for link, cost in costs.told(text).items()}
        session.close()
    return found
