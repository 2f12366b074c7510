"""The least costs from routers to links, and the gateways that have them. Pure.

They are found in plain Python here, and by scipy in `quick_costs.py`; both find the same.
"""

from __future__ import annotations

import heapq
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Protocol

from delaylab.plan.routes.reach import Stacks

NEVER = 1 << 30
"""The cost to what is out of reach. A path over 10 000 links of the largest cost is cheaper."""
OUT_OF_REACH = -1
"""The number for a link that no gateway reaches; sets of gateways count from 1 on."""
Choices = tuple[list[tuple[int, ...]], "array[int]"]
"""Sets of gateways by their places, and for each link the number of its set."""


@dataclass(frozen=True)
class Routers:
    """The routers of a lab by number: the least cost to each neighbour, and those on each link."""

    near: list[dict[int, int]]
    on: list[list[int]]

    @classmethod
    def of(cls, stacks: Stacks, links: Sequence[str], number: dict[str, int]) -> Routers:
        """Return the routers of some stacks; of two links between a pair the cheaper one counts."""
        on = [[number[stack] for stack in stacks.on[link] if stack in number] for link in links]
        near: list[dict[int, int]] = [{} for _ in number]
        for link, routers in zip(links, on, strict=True):
            cost = stacks.cost([link])
            for one in routers:
                for other in routers:
                    if one != other:
                        near[one][other] = min(cost, near[one].get(other, cost))
        return cls(near, on)


class PathCosts(Protocol):
    """The least costs from each router to each link, 0 if the router is on the link."""

    def choices(self, gateways: Sequence[tuple[int, int]], *, multipath: bool) -> Choices:
        """Return the best of some gateways, given as a router and the cost to it, to each link.

        Without `multipath` each is a set of its own, and the first of equals is taken; with it a
        set has all of one cost. OUT_OF_REACH stands for a link that none of them reaches.
        """


class PlainCosts:
    """The costs in plain Python, for a light install."""

    def __init__(self, routers: Routers) -> None:
        self._links = len(routers.on)
        self._least = [
            array("i", (min([far[each] for each in on], default=NEVER) for on in routers.on))
            for far in (_distances(routers.near, start) for start in range(len(routers.near)))
        ]

    def choices(self, gateways: Sequence[tuple[int, int]], *, multipath: bool) -> Choices:
        """Return the best of some gateways to each link, as `PathCosts` says."""
        if not gateways:
            return [], array("i", [OUT_OF_REACH]) * self._links
        rows = [[far + cost for far in self._least[router]] for router, cost in gateways]
        columns = [*zip(*rows, strict=True)]
        least = [*map(min, columns)]
        sets: list[tuple[int, ...]] = [(at,) for at in range(len(gateways))]
        best = map(tuple.index, columns, least)
        if multipath:
            equal = [
                tuple(far == low for far in column)
                for column, low in zip(columns, least, strict=True)
            ]
            different = sorted({*equal})
            sets = [tuple(compress(range(len(each)), each)) for each in different]
            best = map({each: at for at, each in enumerate(different)}.__getitem__, equal)
        numbers = zip(best, least, strict=True)
        return sets, array("i", [at + 1 if far < NEVER else OUT_OF_REACH for at, far in numbers])


def _distances(near: Sequence[dict[int, int]], start: int) -> list[int]:
    """Return the least cost from a router to each router."""
    found = [NEVER] * len(near)
    found[start] = 0
    waiting = [(0, start)]
    while waiting:
        so_far, router = heapq.heappop(waiting)
        if so_far > found[router]:
            continue
        for other, cost in near[router].items():
            there = so_far + cost
            if there < found[other]:
                found[other] = there
                heapq.heappush(waiting, (there, other))
    return found
