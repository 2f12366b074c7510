"""A router as its daemons see it: its ports, the routers beside it, and its addresses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import ip_interface

from delaylab.spec.lab import Protocol
from delaylab.spec.routing.model import OspfSpec, RoutingSpec
from delaylab.spec.routing.ospf_settings import NetworkType

SPEAKERS = frozenset({"ospfd", "ospf6d", "isisd", "bgpd", "bird"})
"""The names of daemons that speak a routing protocol; zebra sets what they find."""
ZEBRA = "zebra"
"""The name of FRR's daemon that sets the kernel's routes for the others."""
MANY = 100
"""The fewest routers of a lab that do not print their events until somebody asks for them.

BIRD prints a line for each announcement that it hears of. 852 routers print some two million lines
until all know all, and each is passed on, and kept, by the agent."""
Network = NetworkType
"""The types of OSPF's networks (RFC 2328, section 9)."""
BFD_PROFILE = "delaylab"
"""The name of the times of BFD, which only this router sees."""


@dataclass(frozen=True)
class DaemonRoute:
    """A static route that a daemon sets: over a next hop, or one that discards packets (`type`)."""

    to: str
    version: int
    via: str | None = None
    type: str = "unicast"


@dataclass(frozen=True)
class Peer:
    """Another router with daemons on a port's link: its addresses there, and its AS number.

    `hears` are the protocols of hello packets that it speaks there.
    """

    name: str
    addresses: tuple[str, ...]
    as_number: int | None = None
    hears: frozenset[Protocol] = frozenset()


@dataclass(frozen=True)
class RouterPort:
    """An interface of a router to a link.

    `addresses` are with prefix. `off` are protocols that are not spoken here, and `passive` those
    by which its network is announced and no more, as the lab file says.
    """

    device: str
    link: str
    addresses: tuple[str, ...]
    cost: int
    network: Network
    peers: tuple[Peer, ...] = ()
    off: frozenset[Protocol] = frozenset()
    passive: frozenset[Protocol] = frozenset()

    def hearing(self, protocol: Protocol) -> list[Peer]:
        """Return the routers to which hello packets of a protocol are sent; none if it is passive.

        If no other router is there that speaks it, none are sent.
        """
        if protocol in self.off or protocol in self.passive:
            return []
        return [peer for peer in self.peers if protocol in peer.hears]


@dataclass(frozen=True, kw_only=True)
class Router:
    """A router, its ports and its settings.

    `loopbacks` are with prefix. `as_number` is that of BGP. `inside` are the routers of the same AS
    number, with the addresses of their loopbacks. `prints_events` is False if its daemons say what
    becomes of their neighbours only when they are asked to.
    """

    name: str
    router_id: str
    routing: RoutingSpec
    ip: tuple[int, ...]
    loopbacks: tuple[str, ...]
    ports: tuple[RouterPort, ...]
    as_number: int | None = None
    inside: tuple[Peer, ...] = ()
    prints_events: bool = True
    static: tuple[DaemonRoute, ...] = ()

    def watched_by_bfd(self, port: RouterPort) -> bool:
        """Return True if BFD watches the neighbours of OSPF at a port."""
        ospf = self.routing.ospf
        return (
            self.routing.bfd is not None
            and ospf is not None
            and ospf.link(port.link).bfd is not False
        )

    def hides(self, port: RouterPort) -> bool:
        """Return True if OSPF does not announce the networks of a port: routers alone are there."""
        ospf = self.routing.ospf
        suppressed = ospf is not None and ospf.prefix_suppression
        return suppressed and port.network == "point-to-point" and bool(port.hearing("ospf"))

    def area_of_loopback(self, ospf: OspfSpec) -> str:
        """Return the area of OSPF that the router's loopback is in."""
        return ospf.area_of_loopback(port.link for port in self.ports if "ospf" not in port.off)


def of_version(addresses: tuple[str, ...], version: int) -> Iterator[str]:
    """Yield the addresses of an IP version, without their prefixes."""
    found = (ip_interface(text).ip for text in addresses)
    yield from (str(each) for each in found if each.version == version)
