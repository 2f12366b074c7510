"""Lines of a source that join nodes, and the links that they are: two directions are one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from delaylab.topology import remarks as odd
from delaylab.topology.model import MapLink
from delaylab.topology.remarks import Remarks


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A line of a source that joins two nodes: a link, or one direction of it."""

    a: str
    b: str
    line: int = 0
    delay: int | None = None
    capacity: int | None = None
    cost: Fraction | None = None
    directed: bool = False
    loss: int | None = None
    """The share of packets that are lost, in 10⁻⁹."""
    jitter: int | None = None
    mtu: int | None = None
    addresses: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The addresses of both nodes, with prefixes."""
    devices: Mapping[str, str] = field(default_factory=dict)
    """The names of interfaces that the source gives, by node."""
    number: int = 0
    """The link's number in the source, for a reader that asks what became of it."""


def both_ways(edges: list[Edge], remarks: Remarks) -> list[MapLink]:
    """Return the links: each undirected edge, and each two directed ones that belong together.

    Of several directed edges from one node to another, the first belongs to the first in the other
    direction, the second to the second, and so on.
    """
    waiting: dict[tuple[str, str], list[int]] = defaultdict(list)
    links: list[MapLink] = []
    paired: list[int] = []
    for edge in edges:
        back = waiting[edge.b, edge.a] if edge.directed else []
        if back:
            index = back.pop(0)
            paired.append(edge.line)
            links[index] = _merged(links[index], edge, remarks)
            continue
        if edge.directed:
            waiting[edge.a, edge.b].append(len(links))
        links.append(
            MapLink(
                edge.a,
                edge.b,
                "",
                delay=edge.delay,
                capacity=edge.capacity,
                cost=edge.cost,
                line=edge.line,
                loss=edge.loss,
                jitter=edge.jitter,
                mtu=edge.mtu,
                addresses=edge.addresses,
                devices=edge.devices,
                numbers=(edge.number,),
            )
        )
    alone = [index for indices in waiting.values() for index in indices]
    if len(alone) > len(paired):
        for line in paired:
            remarks.count(odd.BOTH_WAYS, line)
    if alone and len(alone) == len(links):
        remarks.say("every link is in the source in one direction only: taken for both")
    else:
        for index in alone:
            remarks.count(odd.ONE_WAY, links[index].line)
    return links


def _merged(link: MapLink, back: Edge, remarks: Remarks) -> MapLink:
    """Return a link with its second direction."""
    if None not in (link.cost, back.cost) and link.cost != back.cost:
        remarks.count(odd.TWO_COSTS, back.line)
    if None not in (link.capacity, back.capacity) and link.capacity != back.capacity:
        remarks.count(odd.TWO_CAPACITIES, back.line)
    capacities = [each for each in (link.capacity, back.capacity) if each is not None]
    differs = None not in (link.delay, back.delay) and link.delay != back.delay
    if differs:
        remarks.count(odd.TWO_DELAYS, back.line)
    loss = back.loss if back.loss != link.loss else None
    jitter = back.jitter if back.jitter != link.jitter else None
    if loss is not None or jitter is not None:
        remarks.count(odd.TWO_LOSSES, back.line)
    numbers = (*link.numbers, back.number)
    link = replace(link, loss_back=loss, jitter_back=jitter, mtu=link.mtu or back.mtu)
    return replace(
        link,
        delay=back.delay if link.delay is None else link.delay,
        delay_back=back.delay if differs else None,
        capacity=max(capacities, default=None),
        cost=back.cost if link.cost is None else link.cost,
        numbers=numbers,
    )


def remark_parallel(links: list[MapLink], remarks: Remarks) -> None:
    """Count the links that join nodes which another link joins."""
    seen = set()
    for link in links:
        pair = frozenset(link.ends)
        if pair in seen:
            remarks.count(odd.PARALLEL, link.line)
        seen.add(pair)
