"""Paths of the fewest links over routers, and the routes for them. Pure."""

from __future__ import annotations

import ipaddress
from collections import defaultdict, deque
from collections.abc import Collection, Iterator, Mapping, Sequence

from delaylab.plan.model import Interface, Route

Interfaces = Mapping[str, Sequence[Interface]]
"""Node -> its interfaces."""
Next = dict[str, tuple[str, str]]
"""The agent of a stack -> the agent of its next hop, and the link to it."""


class Stacks:
    """The stacks of a lab, each named by its agent, and the links that join them.

    `forwarding` are the agents of those that forward.
    """

    def __init__(self, interfaces: Interfaces, forwarding: Collection[str]) -> None:
        self.forwarding = forwarding
        self.on: dict[str, dict[str, list[str]]] = defaultdict(dict)
        """Link -> the stacks on it -> their addresses with prefix."""
        self.links: dict[str, list[str]] = defaultdict(list)
        """Stack -> its links, in the order of its interfaces."""
        for interface in (each for several in interfaces.values() for each in several):
            stacks = self.on[interface.link]
            if interface.agent not in stacks:
                self.links[interface.agent].append(interface.link)
            stacks.setdefault(interface.agent, []).extend(interface.addresses)

    def toward(self, link: str) -> Next:
        """Return the next hop of every stack that reaches a link over other stacks.

        Among paths of equally few links, the one over the stack that comes first in the lab is
        taken.
        """
        found: Next = {}
        waiting = deque(self.on[link])
        reached = set(waiting)
        while waiting:
            stack = waiting.popleft()
            if stack not in self.forwarding:
                continue
            for over in self.links[stack]:
                for other in self.on[over]:
                    if other not in reached:
                        reached.add(other)
                        found[other] = stack, over
                        waiting.append(other)
        return found


def routes(stacks: Stacks, machine: str | None) -> Iterator[Route]:
    """Yield the routes of every stack to all links that it is not on.

    A stack whose routes all have one gateway has a default route instead, except on this machine
    itself: `machine` is the agent in whose network this machine's own stack is.
    """
    if not stacks.forwarding:
        return
    gateways: dict[str, dict[str, str]] = defaultdict(dict)
    for link in stacks.on:
        for stack, (gateway, over) in stacks.toward(link).items():
            for network in _networks(stacks.on[link]):
                via = _address(stacks.on[over][gateway], network)
                if via is not None:
                    gateways[stack].setdefault(network, via)
    for stack, by_network in gateways.items():
        for version, anywhere in ((4, "0.0.0.0/0"), (6, "::/0")):
            own = {net: via for net, via in by_network.items() if _version(net) == version}
            if own and len(set(own.values())) == 1 and stack != machine:
                own = {anywhere: next(iter(own.values()))}
            yield from (Route(stack, network, via) for network, via in own.items())


def _networks(stacks: Mapping[str, Sequence[str]]) -> list[str]:
    texts = (text for addresses in stacks.values() for text in addresses)
    return list(dict.fromkeys(str(ipaddress.ip_interface(text).network) for text in texts))


def _address(texts: Sequence[str], network: str) -> str | None:
    """Return the first address of a network's family, or None."""
    addresses = (ipaddress.ip_interface(text).ip for text in texts)
    return next((str(ip) for ip in addresses if ip.version == _version(network)), None)


def _version(network: str) -> int:
    return ipaddress.ip_network(network).version
