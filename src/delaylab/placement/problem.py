"""The assignment problem: which host carries which node, and which interface which end of a link.

The model is that of V-eM (vem2006, section III C): routers, links with bandwidth, hosts that take a
number of nodes each, and their interfaces, which belong to broadcast domains.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, pairwise

from delaylab.errors import BadInput

FEW_MEMBERS = 16
"""Members of a link up to which each pair counts; beyond it, each member and the next."""
MOST_MACS = 4096
"""The MAC addresses that a switch keeps (vem2006, section VI C): one for each end of a link."""

Edge = tuple[int, int, float]
"""Two nodes by their numbers, and the bit/s that cross if they are on different hosts."""


@dataclass(frozen=True)
class Interface:
    """An interface of a host towards other hosts."""

    name: str
    rate: int
    """In bit/s, in each direction."""
    domain: str
    """The broadcast domain: only interfaces of one domain reach each other."""


@dataclass(frozen=True)
class Host:
    """A host, as far as a placement is concerned."""

    name: str
    most_nodes: int | None = None
    interfaces: tuple[Interface, ...] = ()
    across: bool = False
    """True if also what its nodes send each other leaves by an interface."""

    @property
    def rate(self) -> int:
        """Return the rate of all interfaces together, in bit/s; 0 if none is known."""
        return sum(each.rate for each in self.interfaces)

    @property
    def domains(self) -> frozenset[str]:
        """Return the broadcast domains that the host is in."""
        return frozenset(each.domain for each in self.interfaces)


@dataclass(frozen=True)
class NumberedLink:
    """A link of the lab: its members by their numbers, and its bandwidth in each direction."""

    name: str
    members: tuple[int, ...]
    bandwidth: int
    interfaces: tuple[tuple[str, str], ...] = ()
    """The interface by which the link leaves a host, for the hosts of which that is said."""


@dataclass(frozen=True)
class Problem:
    """Nodes to be placed, and what they may be placed on."""

    nodes: tuple[str, ...]
    links: tuple[NumberedLink, ...]
    hosts: tuple[Host, ...]
    pinned: tuple[int | None, ...]
    """For each node the host that it is bound to, if it is."""
    together: tuple[tuple[int, int], ...] = ()
    """Pairs of nodes that one host must carry."""
    slack: float = 0.1
    """Part by which a host may exceed the least possible load, in favour of less traffic between
    hosts."""

    @cached_property
    def load(self) -> tuple[int, ...]:
        """Return for each node the bandwidth of all its links, in bit/s."""
        found = [0] * len(self.nodes)
        for link in self.links:
            for member in link.members:
                found[member] += link.bandwidth
        return tuple(found)

    @cached_property
    def edges(self) -> tuple[Edge, ...]:
        """Return pairs of nodes with the bandwidth between them; a broadcast link is spread."""
        return tuple(edge for link in self.links for edge in _edges(link))

    @cached_property
    def share(self) -> tuple[float, ...]:
        """Return for each host its share of all hosts' rate; equal shares if a rate is unknown."""
        rates = [host.rate for host in self.hosts]
        if min(rates) == 0:
            rates = [1] * len(rates)
        return tuple(rate / sum(rates) for rate in rates)

    @property
    def hosts_alike(self) -> tuple[Host, ...]:
        """Return the hosts without their names, by which those that may change places are equal."""
        return tuple(replace(host, name="") for host in self.hosts)

    @cached_property
    def apart(self) -> frozenset[tuple[int, int]]:
        """Return the pairs of hosts that have no broadcast domain in common."""
        kinds = {host.domains for host in self.hosts if host.interfaces}
        if not any(one.isdisjoint(two) for one, two in combinations(kinds, 2)):
            return frozenset()
        return frozenset(
            (a, b)
            for a, one in enumerate(self.hosts)
            for b, two in enumerate(self.hosts)
            if a != b and one.interfaces and two.interfaces and one.domains.isdisjoint(two.domains)
        )


def _edges(link: NumberedLink) -> list[Edge]:
    if len(link.members) == 2:
        return [(*link.members, link.bandwidth)]
    pairs: Sequence[tuple[int, int]]
    if len(link.members) <= FEW_MEMBERS:
        pairs = list(combinations(link.members, 2))
    else:
        pairs = list(pairwise(link.members))
    each = link.bandwidth / max(1, len(link.members) - 1)
    return [(one, two, each) for one, two in pairs]


class Infeasible(BadInput):
    """The error that no placement fits; the message says which constraint fails and by how much."""
