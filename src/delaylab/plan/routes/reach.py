"""The stacks of a lab as a graph: the links that they reach, and their next hops. Pure."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import count

from delaylab.plan.attachment import Attachment

Gateway = tuple[str, str]
"""The agent of a stack that forwards, and the link over which another stack reaches it."""
NextHops = dict[str, Gateway]
"""The agent of a stack -> its next hop."""


class Stacks:
    """The stacks of a lab, each named by its agent, and the links that join them.

    `forwarding` are the agents of those that forward. `costs` are the costs of links, 1 where a
    link has none. `loopbacks` are the addresses that a stack has on none of its links.
    """

    def __init__(
        self,
        attachments: Iterable[Attachment],
        forwarding: Collection[str],
        costs: Mapping[str, int] | None = None,
        loopbacks: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self.forwarding = forwarding
        self.costs = costs or {}
        self.on: dict[str, dict[str, list[str]]] = defaultdict(dict)
        """Link -> the stacks on it -> their addresses with prefix."""
        self.links: dict[str, list[str]] = defaultdict(list)
        """Stack -> its links, in the order of its attachments."""
        for each in attachments:
            stacks = self.on[each.link]
            if each.agent not in stacks:
                self.links[each.agent].append(each.link)
            stacks.setdefault(each.agent, []).extend(each.addresses)
        for stack, addresses in (loopbacks or {}).items():
            # A link that only this stack is on; no name of a link has a colon.
            self.on[f"lo:{stack}"] = {stack: list(addresses)}
            self.links[stack].append(f"lo:{stack}")

    def cost(self, links: Sequence[str]) -> int:
        """Return the sum of the links' costs."""
        return sum(self.costs.get(link, 1) for link in links)

    def toward(self, link: str) -> NextHops:
        """Return the next hop of every stack that reaches a link over other stacks.

        The path has the least cost. Among equals, the one over the first of the stack's links is
        taken, and there over the stack that comes first.
        """
        return {stack: hops[0] for stack, hops in self.every_toward(link).items()}

    def every_toward(self, link: str) -> dict[str, list[Gateway]]:
        """Return the next hops of the least cost of every stack that reaches a link over others."""
        least = self._costs_to(link)
        found: dict[str, list[Gateway]] = {}
        for stack, cost in least.items():
            if stack in self.on[link]:
                continue
            found[stack] = [
                (gateway, over)
                for over in self.links[stack]
                for gateway in self.on[over]
                if gateway in self.forwarding
                and gateway != stack
                and least.get(gateway, cost) + self.costs.get(over, 1) == cost
            ]
        return found

    def _costs_to(self, link: str) -> dict[str, int]:
        """Return the least cost from every stack that reaches a link, 0 of those on it."""
        least = dict.fromkeys(self.on[link], 0)
        order = count()
        waiting = [(0, next(order), stack) for stack in least]
        # The first stack to cross a link has the least cost there, so each link is crossed once.
        crossed = {link}
        while waiting:
            cost, _, stack = heapq.heappop(waiting)
            if cost > least[stack] or stack not in self.forwarding:
                continue
            for over in self.links[stack]:
                if over in crossed:
                    continue
                crossed.add(over)
                there = cost + self.costs.get(over, 1)
                for other in self.on[over]:
                    if other not in least or there < least[other]:
                        least[other] = there
                        heapq.heappush(waiting, (there, next(order), other))
        return least

    def edges(self, except_for: Collection[str] = ()) -> NextHops:
        """Return each stack that has exactly one gateway, with that gateway.

        Stacks that forward, and those in `except_for`, are left out.
        """
        found = self._gateways(except_for)
        return {stack: hops[0] for stack, hops in found if len(hops) == 1}

    def first_gateways(self, except_for: Collection[str] = ()) -> NextHops:
        """Return the first gateway, on a link of the least cost, of each stack that has one.

        Stacks that forward, and those in `except_for`, are left out.
        """
        found = self._gateways(except_for)
        return {
            stack: min(hops, key=lambda hop: self.cost(hop[1:])) for stack, hops in found if hops
        }

    def _gateways(self, except_for: Collection[str]) -> Iterator[tuple[str, list[Gateway]]]:
        """Yield each stack that does not forward with its gateways, at most two of each link."""
        routers = self._routers()
        for stack, links in self.links.items():
            if stack not in self.forwarding and stack not in except_for:
                yield stack, [(each, link) for link in links for each in routers[link][:2]]

    def without(self, left_out: Collection[str]) -> Stacks:
        """Return the graph of all links, without some of the stacks.

        The other stacks list only those of their links that lead to another stack.
        """
        inner = Stacks((), self.forwarding, self.costs)
        for link, on in self.on.items():
            kept = {stack: texts for stack, texts in on.items() if stack not in left_out}
            inner.on[link] = kept
            for stack in kept if len(kept) > 1 else ():
                inner.links[stack].append(link)
        return inner

    def areas(self) -> dict[str, list[str]]:
        """Return each stack that forwards, with the links that it reaches.

        Stacks that reach each other share one list.
        """
        routers = self._routers()
        area_of: dict[str, list[str]] = {}
        for first in self.links:
            if first in area_of or first not in self.forwarding:
                continue
            area: list[str] = []
            area_of[first] = area
            waiting, seen = [first], set[str]()
            while waiting:
                for link in self.links[waiting.pop()]:
                    if link in seen:
                        continue
                    seen.add(link)
                    area.append(link)
                    new = [stack for stack in routers[link] if stack not in area_of]
                    area_of |= dict.fromkeys(new, area)
                    waiting += new
        return area_of

    def _routers(self) -> dict[str, list[str]]:
        """Return the stacks on each link that forward."""
        return {
            link: [stack for stack in on if stack in self.forwarding]
            for link, on in self.on.items()
        }
