"""The links and nodes on the path between two nodes, over nodes that forward."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import ip_interface, ip_network
from itertools import islice

from delaylab.errors import BadInput
from delaylab.plan.kept import KeptPlan
from delaylab.plan.routes.reach import Stacks
from delaylab.resolve.lab import Lab
from delaylab.spec.routing.static_routes import DEFAULT

MOST_PATHS = 64
"""The most paths of one cost between two nodes that a probe is stamped on."""


@dataclass(frozen=True)
class NodePath:
    """The nodes of a path from one end to the other, and the links between successive nodes."""

    nodes: tuple[str, ...]
    links: tuple[str, ...]


def node_path(plan: KeptPlan, lab: Lab, start: str, end: str, over: str | None = None) -> NodePath:
    """Return the path of the least cost, which arrives by link `over` if that is given.

    It is the path that packets take by the lab's routes, or the first of them (`multipath`). Raise
    BadInput if there is none, or if it is not known because the lab sets no routes.
    """
    return node_paths(plan, lab, start, end, over)[0]


def node_paths(
    plan: KeptPlan, lab: Lab, start: str, end: str, over: str | None = None
) -> list[NodePath]:
    """Return all paths that packets take by the lab's routes, at most `MOST_PATHS`.

    There are several only in a lab with `multipath`. Raise BadInput as `node_path` does.
    """
    forwarding = {plan.nodes[node].stack for node, spec in lab.nodes.items() if spec.forwards}
    stacks = Stacks(plan.every_attachment, forwarding, lab.costs)
    arrivals = [each.link for each in plan.nodes[end].attachments if over in (None, each.link)]
    ways = [
        way
        for link in arrivals
        if start != end
        for way in islice(_ways(plan, lab, stacks, start, link), MOST_PATHS)
    ]
    least = min((stacks.cost(way.links) for way in ways), default=None)
    found = [way for way in ways if stacks.cost(way.links) == least]
    if not found:
        raise _no_path(lab, start, end, over)
    _check_routes(plan, lab, found, end)
    several = found[:MOST_PATHS] if lab.uses_every_path else found[:1]
    return [NodePath((*way.nodes, end), way.links) for way in several]


def _check_routes(plan: KeptPlan, lab: Lab, paths: list[NodePath], end: str) -> None:
    """Raise BadInput if a route that the file gives may lead packets another way."""
    own = plan.nodes[end]
    texts = [*own.loopbacks, *(text for each in own.attachments for text in each.addresses)]
    goals = [ip_interface(text).ip for text in texts]
    for node in dict.fromkeys(node for path in paths for node in path.nodes):
        for to in (route.to for route in lab.nodes[node].routes):
            elsewhere = to in (DEFAULT, *lab.nodes)
            if to == end or not (elsewhere or all(goal not in ip_network(to) for goal in goals)):
                what = f"the path to {end!r} is not known: {node!r} has a route of its own to {to}"
                raise BadInput(what, fix="leave that route out, or probe another node")


def _no_path(lab: Lab, start: str, end: str, over: str | None) -> BadInput:
    """Return the error for two nodes without a path that is known."""
    by = f" by link {over!r}" if over else ""
    if not lab.has_paths:
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


def _ways(plan: KeptPlan, lab: Lab, stacks: Stacks, start: str, link: str) -> Iterator[NodePath]:
    """Yield the paths from a node to a link, each without its last node."""
    follows = stacks.every_toward(link) if lab.has_paths else {}
    router = {plan.nodes[n].stack: n for n, spec in reversed(lab.nodes.items()) if spec.forwards}
    waiting = [(plan.nodes[start].stack, NodePath((start,), ()))]
    while waiting:
        stack, so_far = waiting.pop()
        if stack in stacks.on[link]:
            yield NodePath(so_far.nodes, (*so_far.links, link))
            continue
        hops = follows.get(stack, [])
        for gateway, by in reversed(hops if lab.uses_every_path else hops[:1]):
            nodes, links = (*so_far.nodes, router[gateway]), (*so_far.links, by)
            waiting.append((gateway, NodePath(nodes, links)))
