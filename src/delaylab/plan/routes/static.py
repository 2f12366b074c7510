"""Routes that a lab file gives its nodes -> operations, with nodes' names resolved. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from ipaddress import ip_address, ip_network

from delaylab.errors import BadInput
from delaylab.plan.attachment import Attachment
from delaylab.plan.model import Route
from delaylab.resolve.lab import Lab
from delaylab.spec.routing.static_routes import DEFAULT, RouteSpec

EVERYWHERE = {4: "0.0.0.0/0", 6: "::/0"}


class StaticRoutes:
    """The routes that the file gives, by the agent of each node's stack.

    They are the nodes' `routes`, or others that are `given`.
    """

    def __init__(
        self,
        lab: Lab,
        attachments: Mapping[str, Sequence[Attachment]],
        agents: Mapping[str, str],
        given: Mapping[str, Sequence[RouteSpec]] | None = None,
    ) -> None:
        every = {node: spec.routes for node, spec in lab.nodes.items()} if given is None else given
        self._lab, self._attachments, self._loopbacks = lab, attachments, lab.loopbacks
        self.given = [
            route
            for node, routes in every.items()
            for each in routes
            for route in self._routes(node, agents[node], each)
        ]

    def without(self, routes: Iterable[Route]) -> Iterator[Route]:
        """Yield routes without those to networks to which the file gives the same stack one."""
        own = {(route.agent, to) for route in self.given for to in route.to}
        if not own:
            # Large labs have half a million routes.
            yield from routes
            return
        for route in routes:
            kept = tuple(to for to in route.to if (route.agent, to) not in own)
            if kept == route.to:
                yield route
            elif kept:
                yield Route(route.agent, kept, route.via)

    def _routes(self, node: str, agent: str, spec: RouteSpec) -> Iterator[Route]:
        """Yield the routes of one entry: one for each IP version that it is of."""
        targets = self._targets(node, spec.to)
        hops = [hop for each in spec.via for hop in self._hops(node, each, spec)]
        dev = self._device(node, spec)
        found = 0
        for version in dict.fromkeys(ip_network(to).version for to in targets):
            to = tuple(each for each in targets if ip_network(each).version == version)
            via = tuple(each for each in hops if ip_address(each).version == version)
            if spec.via and not via:
                continue
            found += 1
            kind = None if spec.type == "unicast" else spec.type
            yield Route(agent, to, via, on=dev, metric=spec.metric, kind=kind)
        if not found:
            raise self._refused(node, spec, f"`via` has no address of the IP version of {spec.to}")

    def _targets(self, node: str, to: str) -> list[str]:
        if to == DEFAULT:
            return [EVERYWHERE[version] for version in self._lab.ip]
        if to not in self._attachments:
            return [to]
        whole = self._loopbacks.get(to) or [
            text for each in self._attachments[to] for text in each.addresses
        ]
        return list(dict.fromkeys(str(ip_network(text.split("/")[0])) for text in whole))

    def _hops(self, node: str, via: str, spec: RouteSpec) -> list[str]:
        peer, _, link = via.partition(".")
        if peer not in self._attachments:
            return [via]
        mine = self._ends(node, None if link else spec.dev)
        theirs = self._ends(peer, link or None)
        shared = [each for each in theirs if any(each.link == one.link for one in mine)]
        if not shared:
            raise self._refused(node, spec, f"no link joins it to {via!r}")
        if len(shared) > 1:
            fix = f"say `via: {peer}.{shared[0].link}`"
            raise self._refused(node, spec, f"several links join it to {peer!r}", fix)
        return [text.split("/")[0] for text in shared[0].addresses]

    def _device(self, node: str, spec: RouteSpec) -> str | None:
        if spec.dev is None:
            return None
        for each in self._ends(node, spec.dev):
            return each.device
        raise self._refused(node, spec, f"it is not on link {spec.dev!r}")

    def _ends(self, node: str, called: str | None) -> Sequence[Attachment]:
        """Return a node's ends of links; of one link if its name is given, or the interface's."""
        ends = self._attachments[node]
        if called is None:
            return ends
        by_link = [each for each in ends if each.link == called]
        return by_link or [each for each in ends if each.device == called]

    def _refused(self, node: str, spec: RouteSpec, why: str, fix: str = "") -> BadInput:
        return BadInput(f"node {node!r} cannot have its route to {spec.to}: {why}", fix=fix)
