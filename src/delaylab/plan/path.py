"""The links and nodes on the path between two nodes, over nodes that forward."""

from __future__ import annotations

from dataclasses import dataclass

from delaylab.errors import BadInput
from delaylab.plan.kept import KeptPlan
from delaylab.plan.reach import Stacks
from delaylab.spec.lab import LabSpec
from delaylab.spec.names import costs


@dataclass(frozen=True)
class NodePath:
    """The nodes of a path from one end to the other, and the links between successive nodes."""

    nodes: tuple[str, ...]
    links: tuple[str, ...]


def node_path(
    plan: KeptPlan, lab: LabSpec, start: str, end: str, over: str | None = None
) -> NodePath:
    """Return the path of the least cost, which arrives by link `over` if that is given.

    It is the path that packets take by the lab's routes. Raise BadInput if there is none, or if it
    is not known because the lab sets no routes.
    """
    forwarding = {plan.nodes[node].stack for node, spec in lab.nodes.items() if spec.forwards}
    stacks = Stacks(plan.every_attachment, forwarding, costs(lab))
    arrivals = [each.link for each in plan.nodes[end].attachments if over in (None, each.link)]
    ways = [_way(plan, lab, stacks, start, link) for link in arrivals if start != end]
    known = (way for way in ways if way is not None)
    found = min(known, key=lambda way: stacks.cost(way.links), default=None)
    if found is None:
        raise _no_path(lab, start, end, over)
    return NodePath((*found.nodes, end), found.links)


def _no_path(lab: LabSpec, start: str, end: str, over: str | None) -> BadInput:
    """Return the error for two nodes without a path that is known."""
    by = f" by link {over!r}" if over else ""
    if lab.routes == "none":
        return BadInput(
            f"the path from {start!r} to {end!r}{by} is not known: they share no link, and "
            "`routes: none` sets no routes over other nodes",
            fix="leave `routes: none` out, or name two nodes of one link",
        )
    return BadInput(
        f"there is no path from {start!r} to {end!r}{by}: they share no link, and no nodes that "
        "forward are between them",
        fix="join them, or say `forwards: true` of a node between them",
    )


def _way(plan: KeptPlan, lab: LabSpec, stacks: Stacks, start: str, link: str) -> NodePath | None:
    """Return the path from a node to a link, without its last node; None if there is none."""
    follows = stacks.toward(link) if lab.routes == "shortest" else {}
    stack, nodes, links = plan.nodes[start].stack, [start], list[str]()
    while stack not in stacks.on[link]:
        if stack not in follows:
            return None
        stack, by = follows[stack]
        links.append(by)
        routers = (n for n, s in lab.nodes.items() if s.forwards and plan.nodes[n].stack == stack)
        nodes.append(next(routers))
    return NodePath(tuple(nodes), (*links, link))
