"""The longest delays that a lab's links are configured for, one way and there and back. Pure.

What packets wait in queues is not part of them, nor are changes of a running lab (`link set`).
"""

from __future__ import annotations

import heapq
import math
from collections import defaultdict
from collections.abc import Iterable

from delaylab.resolve.lab import Direction, Lab, Link
from delaylab.spec.conditions.engine import Conditions, DelayTrace

S = 1_000_000_000
"""A second in ns."""
KERNEL_TRIES = 3
"""The number of times that the kernel asks for a neighbour, once a second (arp(7))."""
MOST_SPREADS = 5
"""The largest jitter in spreads: Pareto's is cut at 4.91, and the normal one's tail is thinner."""


def delay_ns(conditions: Conditions) -> int:
    """Return the longest one-way delay of a direction with these conditions, in ns."""
    if isinstance(conditions.trace, DelayTrace):
        return max(delay for _, delay in conditions.trace.points)
    spread = conditions.jitter.spread_ns if conditions.jitter else 0
    return (conditions.delay_ns or 0) + MOST_SPREADS * spread


def longest_ns(direction: Direction) -> int:
    """Return the longest one-way delay that a direction has from the start or by the timeline."""
    return max(delay_ns(conditions) for conditions in direction.every)


def one_way_ns(lab: Lab) -> dict[str, dict[str, int]]:
    """Return the longest one-way delay in ns by link and member.

    It is that of what the member sends and of what it receives together: a round trip between two
    members passes both of each. Changes by the lab's timeline count.
    """
    return {
        name: {node: _both_ns(link, node) for node in link.members}
        for name, link in lab.links.items()
    }


def _both_ns(link: Link, node: str) -> int:
    received = link.received.get(node)
    return longest_ns(link.sent[node]) + (0 if received is None else longest_ns(received))


def tries(one_way: Iterable[int]) -> int | None:
    """Return how often a stack must ask for a neighbour on a link, once a second.

    `one_way` are the delays in ns of what each member sends. Returns None if the kernel's own wait
    is enough, also if two of its three asks are lost.
    """
    across_ns = sum(sorted(one_way)[-2:])
    return KERNEL_TRIES + math.ceil(across_ns / S) if across_ns > S else None


def round_trip_ns(lab: Lab, start: str, end: str) -> int:
    """Return the longest round trip over the path of the least cost between two nodes, in ns.

    Returns 0 if there is no path, or `end` is outside of the lab.
    """
    cost, one_way, ends = lab.costs, one_way_ns(lab), defaultdict[str, list[str]](list)
    for link, members in one_way.items():
        for node in members:
            ends[node].append(link)
    waiting: list[tuple[int, int, str]] = [(0, 0, start)]
    seen = set[str]()
    while waiting:
        so_far, delay, node = heapq.heappop(waiting)
        if node == end:
            return delay
        if node in seen or (node != start and not lab.nodes[node].forwards):
            continue
        seen.add(node)
        for link in ends[node]:
            members = one_way[link]
            for other in members.keys() - seen:
                both = delay + members[node] + members[other]
                heapq.heappush(waiting, (so_far + cost.get(link, 1), both, other))
    return 0
