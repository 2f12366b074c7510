"""The next hops of all stacks of a lab with many routers. Pure."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from delaylab.extras import has, needed
from delaylab.plan.routes.costs import PathCosts, PlainCosts, Routers
from delaylab.plan.routes.reach import Gateway, Stacks

QUICK_FROM = 350
"""The number of routers from which on it takes less time to load scipy than to do without."""
ON_LINK = 0
"""The number for a link that the stack is on."""


@dataclass(frozen=True)
class Hops:
    """The next hops of one stack: different `sets` of gateways, and for each link which it is.

    `of_link` counts sets from 1 on, and has ON_LINK or OUT_OF_REACH where there is no gateway.
    """

    sets: list[list[Gateway]]
    of_link: array[int]

    def toward(self, link: int) -> list[Gateway]:
        """Return the gateways to a link; an empty list if the stack is on it or cannot reach it."""
        number = self.of_link[link]
        return self.sets[number - 1] if number > 0 else []


def every(
    stacks: Stacks, links: Sequence[str], at_a_time: int, *, multipath: bool
) -> Iterator[tuple[str, Hops]]:
    """Yield the next hops of each stack to the links; those with few gateways come first.

    Their choices fit into few bits. `at_a_time` pairs of a router and a link are worked on at once.
    """
    forwarding = [stack for stack in stacks.links if stack in stacks.forwarding]
    number = {stack: at for at, stack in enumerate(forwarding)}
    routers = Routers.of(stacks, links, number)
    costs: PathCosts
    if len(forwarding) >= QUICK_FROM and has("scipy"):
        with needed("a lab with many routers"):
            from delaylab.plan.routes.quick_costs import QuickCosts  # noqa: PLC0415  slow to load

        costs = QuickCosts(routers, at_a_time)
    else:
        costs = PlainCosts(routers)
    own: dict[str, list[int]] = {stack: [] for stack in stacks.links}
    for at, link in enumerate(links):
        for stack in stacks.on[link]:
            if stack in own:
                own[stack].append(at)
    gateways = {stack: _gateways(stacks, stack, number) for stack in stacks.links}
    for stack in sorted(gateways, key=lambda each: len(gateways[each])):
        known = gateways[stack]
        rows = [(number[gateway], stacks.cost([over])) for gateway, over in known]
        sets, of_link = costs.choices(rows, multipath=multipath)
        for at in own[stack]:
            of_link[at] = ON_LINK
        yield stack, Hops([[known[at] for at in each] for each in sets], of_link)


def _gateways(stacks: Stacks, stack: str, number: dict[str, int]) -> list[Gateway]:
    return [
        (gateway, over)
        for over in stacks.links[stack]
        for gateway in stacks.on[over]
        if gateway in number and gateway != stack
    ]
