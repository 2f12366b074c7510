"""The routers and links of a lab, as routing protocols see them, and what of it is out of order."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Port:
    """A router's end of a link.

    `networks` are the prefixes of its addresses, and `addresses` these by IP version, without
    prefixes. With `by_global` the router's next hops of IPv6 are global addresses, not link-local
    ones as usual. With `keeps_address` the router announces the addresses of a port without carrier
    (RFC 2328, section 12.4.1.1, state Loopback). A port that is `hidden` has networks and addresses
    that the router does not announce (RFC 6860). One that is not `spoken` has them too, and one
    that is not `heard` exchanges no routes: it announces its network and no more. `cost` is that of
    what the router sends.
    """

    node: str
    device: str
    networks: tuple[str, ...]
    addresses: dict[int, str]
    link_local: str
    by_global: bool = False
    keeps_address: bool = False
    hidden: bool = False
    spoken: bool = True
    heard: bool = True
    cost: int = 1

    def gateway(self, to: Port, version: int) -> str | None:
        """Return this router's next-hop address for another one; None if it has none."""
        address = to.addresses.get(version)
        return address if version == 4 or self.by_global or address is None else to.link_local


@dataclass(frozen=True)
class RouterLink:
    """A link with the routers on it; those in the same `area` exchange routes over it."""

    link: str
    ports: tuple[Port, ...]
    area: str = ""


@dataclass(frozen=True)
class StaticRoute:
    """A static route of a router's daemon: to a prefix over the address `via`.

    Without `via` it discards packets.
    """

    to: str
    via: str | None


@dataclass(frozen=True)
class Topology:
    """The routers of a lab with their loopbacks (prefixes), and the links between them.

    `backbone` is the area over which routes go from one area to another, if there are several.
    `static` are the routes that a router's own daemon sets.
    """

    loopbacks: dict[str, tuple[str, ...]]
    segments: tuple[RouterLink, ...]
    backbone: str = ""
    areas_of_loopbacks: dict[str, str] = field(default_factory=dict)
    static: Mapping[str, tuple[StaticRoute, ...]] = field(default_factory=dict)

    @property
    def networks(self) -> Iterator[str]:
        """Yield the prefixes of all links and loopbacks, some of them several times."""
        for segment in self.segments:
            for port in segment.ports:
                yield from port.networks
        for prefixes in self.loopbacks.values():
            yield from prefixes


def parts(topology: Topology) -> list[frozenset[str]]:
    """Return the sets of routers that links join, the largest first; one set if all are joined."""
    part_of = {node: frozenset({node}) for node in topology.loopbacks}
    for segment in topology.segments:
        joined = frozenset().union(*(part_of[port.node] for port in segment.ports))
        part_of |= dict.fromkeys(joined, joined)
    return sorted(set(part_of.values()), key=lambda part: (-len(part), min(part)))


End = tuple[str, str]
"""A node, and a link that it is on."""


@dataclass(frozen=True)
class Faults:
    """The ends of links without carrier (`down`), those that are silent, and the dead nodes.

    `mute` are routers that speak no routing protocol any more, since their daemons do not run; they
    still forward, by the tables that they have.

    `costs` are those of ends that were told another one than the lab file says.

    An end is silent if what it sends vanishes although its carrier is there: it exchanges no routes
    any more, and its prefix stays where it is.
    """

    down: Collection[End] = frozenset()
    silent: Collection[End] = frozenset()
    nodes: Collection[str] = frozenset()
    mute: Collection[str] = frozenset()
    costs: Mapping[End, int] = field(default_factory=dict)

    def cost(self, port: Port, link: str) -> int:
        """Return the cost of a router's end of a link."""
        return self.costs.get((port.node, link), port.cost)

    def speaks(self, node: str) -> bool:
        """Return True if a router takes part in routing."""
        return node not in self.nodes and node not in self.mute

    def has_carrier(self, node: str, link: str) -> bool:
        """Return True if a node's end of a link is up, so that its prefix is in a table."""
        return node not in self.nodes and (node, link) not in self.down

    def exchanges(self, node: str, link: str) -> bool:
        """Return True if a node can exchange routes with others on a link."""
        heard = (node, link) not in self.silent and self.speaks(node)
        return heard and self.has_carrier(node, link)


NO_FAULTS = Faults()
