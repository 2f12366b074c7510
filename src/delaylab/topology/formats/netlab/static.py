"""Static routes, `routing.static`: of a router's daemons, or of a host."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address, ip_interface

from delaylab.io.values import Json
from delaylab.topology.formats.containerlab.tree import Tree, items, text
from delaylab.topology.formats.losses import Losses
from delaylab.topology.formats.netlab.pools import NUMBERS, VERSIONS, Network, Pools, network_of
from delaylab.topology.formats.netlab.shape import Leaves, NodeSaid, is_on, leaves
from delaylab.topology.model import MapLink

STATIC = ("routing", "static")
FORMS = "a route has a node or a network as its destination, and a node or an address"


@dataclass(frozen=True)
class Around:
    """The surroundings of a node: names in the lab, neighbours, addresses, and the IP versions.

    `near` has the first link to each node that a link joins it to, `loopbacks` the addresses of
    each node that has some there.
    """

    names: Mapping[str, str]
    near: Mapping[str, MapLink]
    loopbacks: Mapping[str, Sequence[str]]
    pools: Pools
    ip: Collection[int]


def routes_of(node: NodeSaid, around: Around, losses: Losses) -> list[Json]:
    """Return the routes of a node; name those that no lab file can have."""
    found: list[Json] = []
    for entry in items(node.said.get(STATIC)):
        routes = [*_routes(entry, around)]
        if not routes:
            why = f"{FORMS} as its next hop"
            losses.lose(node.at, "a route of `routing.static`", why, node.name)
        found += routes
    return found


def _routes(entry: Tree, around: Around) -> Iterator[Json]:
    said, names = leaves(entry), around.names
    if ("vrf",) in said or ("nexthop", "vrf") in said:
        return
    target = text(said.get(("node",)))
    via = text(said.get(("nexthop", "node")))
    if via:
        link = around.near.get(via)
        if link is None:
            return
        hops = [int(ip_interface(each).version) for each in link.addresses.get(names[via], ())]
        networks = [each for each in _networks(said, around) if not hops or each.version in hops]
        wanted = [names[target]] if target in names else map(str, networks)
        yield from ({"to": to, "via": f"{names[via]}.{link.name}"} for to in wanted)
        return
    discards = any(is_on(said.get(key)) for key in (("nexthop", "discard"), ("discard",)))
    via_of = {version: text(said.get(("nexthop", version))).split("/")[0] for version in VERSIONS}
    for network in _networks(said, around):
        hop = next(each for version, each in via_of.items() if NUMBERS[version] == network.version)
        if discards:
            yield {"to": str(network), "type": "blackhole"}
        elif _is_address(hop):
            yield {"to": str(network), "via": hop}


def _networks(said: Leaves, around: Around) -> list[Network]:
    """Return the destinations of a route, of the lab's IP versions."""
    if target := text(said.get(("node",))):
        texts = around.loopbacks.get(target, ())
        found = [network_of(str(ip_interface(each).ip)) for each in texts]
    elif name := text(said.get(("prefix",))):
        found = [*(around.pools.prefix(name) or {}).values()]
    elif pool := text(said.get(("pool",))):
        found = [*around.pools.whole(pool)]
    else:
        found = [network_of(said.get((version,))) for version in VERSIONS]
    return [each for each in found if each is not None and each.version in around.ip]


def _is_address(given: str) -> bool:
    try:
        ip_address(given)
    except ValueError:
        return False
    return True
