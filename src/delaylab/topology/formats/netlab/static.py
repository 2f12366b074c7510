"""Static routes, `routing.static`, as those of a node."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from ipaddress import ip_address, ip_network

from delaylab.io.values import Json
from delaylab.topology.formats.containerlab.tree import Tree, items, text
from delaylab.topology.formats.losses import Losses
from delaylab.topology.formats.netlab.shape import Leaves, NodeSaid, is_on, leaves

STATIC = ("routing", "static")


@dataclass(frozen=True)
class Around:
    """The surroundings of a node: names in the lab, its neighbours, and the IP versions.

    `near` has the first link to each node that a link joins it to.
    """

    names: Mapping[str, str]
    near: Mapping[str, str]
    ip: Collection[int]


def routes_of(node: NodeSaid, around: Around, losses: Losses) -> list[Json]:
    """Return the routes of a node; name those that no lab file can have."""
    found: list[Json] = []
    for entry in items(node.said.get(STATIC)):
        route = _route(entry, around)
        if route is None:
            why = "a route has a node or a network as its destination, and a node or an address"
            losses.lose(node.at, "a route of `routing.static`", f"{why} as its next hop", node.name)
        else:
            found += route
    return found


def _route(entry: Tree, around: Around) -> list[Json] | None:
    said, names = leaves(entry), around.names
    if ("vrf",) in said or ("nexthop", "vrf") in said:
        return None
    targets = _targets(said, around)
    if not targets:
        return None
    if any(is_on(said.get(key)) for key in (("nexthop", "discard"), ("discard",))):
        return [{"to": to, "type": "blackhole"} for to in targets]
    via = text(said.get(("nexthop", "node")))
    if via:
        link = around.near.get(via)
        return [{"to": to, "via": f"{names[via]}.{link}"} for to in targets] if link else None
    hops = [text(said.get(("nexthop", version))) for version in ("ipv4", "ipv6")]
    hops = [each.split("/")[0] for each in hops if each]
    if not hops or not all(map(_is_address, hops)):
        return None
    return [{"to": to, "via": hops if len(hops) > 1 else hops[0]} for to in targets]


def _targets(said: Leaves, around: Around) -> list[str]:
    names = around.names
    node = text(said.get(("node",)))
    if node:
        return [names[node]] if node in names else []
    texts = [text(said.get((version,))) for version in ("ipv4", "ipv6")]
    networks = [ip_network(each, strict=False) for each in texts if each and _is_network(each)]
    return [str(each) for each in networks if each.version in around.ip]


def _is_network(given: str) -> bool:
    try:
        ip_network(given, strict=False)
    except ValueError:
        return False
    return True


def _is_address(given: str) -> bool:
    try:
        ip_address(given)
    except ValueError:
        return False
    return True
