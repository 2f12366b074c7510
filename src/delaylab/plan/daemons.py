"""The routing daemons of a lab's routers, from its links and their addresses. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from ipaddress import IPv4Address, ip_network

from delaylab.errors import BadInput
from delaylab.plan.attachment import Attachment
from delaylab.plan.routes.static import StaticRoutes
from delaylab.resolve.lab import Lab, Link
from delaylab.routing import router
from delaylab.routing.node_programs import NodePrograms
from delaylab.routing.router import DaemonRoute, Network, Peer, Router, RouterPort, of_version
from delaylab.routing.writers import programs
from delaylab.spec.lab import Protocol
from delaylab.spec.routing.model import RoutingSpec

FIRST_PRIVATE_AS, PRIVATE_AS = 4_200_000_000, 94_967_294
"""The first AS number for private use of 32 bits, and how many there are (RFC 6996)."""
HELLO: tuple[Protocol, ...] = ("ospf", "isis")
"""The protocols that find neighbours by hello packets."""


def daemons(
    lab: Lab,
    attachments: Mapping[str, Sequence[Attachment]],
) -> dict[str, NodePrograms]:
    """Return the files and programs of each router with daemons.

    Files that the lab file gives a node take the place of those of the same path. Raises BadInput
    if two routers have one router ID.
    """
    return {
        name: _without(programs(each, lab.nodes[name].files), lab.nodes[name].files)
        for name, each in routers(lab, attachments).items()
    }


def _without(made: NodePrograms, given: Mapping[str, object]) -> NodePrograms:
    return replace(
        made, files={path: file for path, file in made.files.items() if path not in given}
    )


def routers(
    lab: Lab,
    attachments: Mapping[str, Sequence[Attachment]],
) -> dict[str, Router]:
    """Return each router with daemons, by name; raise BadInput if two have one router ID."""
    routed, loopbacks = lab.routers, lab.loopbacks
    on_link: dict[str, list[Attachment]] = {name: [] for name in lab.links}
    for each in (each for found in attachments.values() for each in found):
        on_link[each.link].append(each)
    numbers = {name: _as_number(name, routing) for name, routing in routed.items()}
    found: dict[str, Router] = {}
    for name, routing in routed.items():
        own = loopbacks.get(name, ())
        found[name] = Router(
            name=name,
            router_id=routing.router_id or _router_id(name, own),
            routing=routing,
            ip=tuple(sorted(lab.ip)),
            loopbacks=own,
            ports=tuple(
                _port(
                    attachment,
                    lab.links[attachment.link],
                    on_link[attachment.link],
                    routed,
                    numbers,
                )
                for attachment in attachments[name]
            ),
            as_number=numbers[name],
            inside=tuple(
                Peer(other, tuple(text.split("/")[0] for text in loopbacks[other]), number)
                for other, number in numbers.items()
                if other != name and number is not None and number == numbers[name]
            ),
            prints_events=len(routed) < router.MANY,
            static=tuple(static_routes(lab, attachments, name)),
        )
    _check_ids(found)
    return found


def _port(
    attachment: Attachment,
    link: Link,
    on_link: Sequence[Attachment],
    routed: Mapping[str, RoutingSpec],
    numbers: Mapping[str, int | None],
) -> RouterPort:
    peers = tuple(
        Peer(
            other.node,
            tuple(str(interface.ip) for interface in other.interfaces()),
            numbers[other.node],
            frozenset(
                protocol
                for protocol in HELLO
                if protocol in routed[other.node].protocols
                and link.spoken(protocol, other.node) is True
            ),
        )
        for other in on_link
        if other.node != attachment.node and other.node in routed
    )
    return RouterPort(
        attachment.device,
        attachment.link,
        attachment.addresses,
        link.cost_of(attachment.node),
        _network(link, routed[attachment.node]),
        peers,
        off=frozenset(one for one in HELLO if link.spoken(one, attachment.node) is False),
        passive=frozenset(one for one in HELLO if link.spoken(one, attachment.node) == "passive"),
    )


def static_routes(
    lab: Lab, attachments: Mapping[str, Sequence[Attachment]], name: str
) -> Iterator[DaemonRoute]:
    """Yield the static routes of a router's daemons, with nodes' names resolved."""
    given = lab.routers[name].static
    found = StaticRoutes(lab, attachments, {name: name}, {name: given}) if given else None
    for route in found.given if found else ():
        for to in route.to:
            via = route.via[0] if route.via else route.on
            kind = route.kind or "unicast"
            yield DaemonRoute(to, ip_network(to).version, via, kind)


def _network(link: Link, routing: RoutingSpec) -> Network:
    if routing.ospf is None:
        return "point-to-point" if link.is_pair else "broadcast"
    return routing.ospf.network_of(link.name, is_pair=link.is_pair)


def _router_id(name: str, loopbacks: tuple[str, ...]) -> str:
    """Return the IPv4 address of the loopback, or one of a hash if there is none."""
    address = next(of_version(loopbacks, 4), None)
    if address is not None:
        return address
    return str(IPv4Address(int.from_bytes(_hash(name, 4)) | 1))


def _as_number(name: str, routing: RoutingSpec) -> int | None:
    if routing.bgp is None:
        return None
    given = routing.bgp.as_number
    own = FIRST_PRIVATE_AS + int.from_bytes(_hash(name, 8)) % PRIVATE_AS
    return own if given is None else given


def _hash(name: str, size: int) -> bytes:
    return hashlib.blake2b(name.encode(), digest_size=size).digest()


def _check_ids(routers: Mapping[str, Router]) -> None:
    owners: dict[str, str] = {}
    for name, each in routers.items():
        other = owners.setdefault(each.router_id, name)
        if other != name:
            what = f"{other!r} and {name!r} both have the router ID {each.router_id}"
            raise BadInput(what, fix="give one of them another `router_id`")
