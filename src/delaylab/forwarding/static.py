"""Static routes of a router's daemon, as FRR puts them into its forwarding table."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import ip_address, ip_network

from delaylab.forwarding.tables import DISCARD, Hops, NextHop, Table
from delaylab.forwarding.topology import StaticRoute


def with_static(table: Table, routes: Sequence[StaticRoute]) -> Table:
    """Return a table with static routes, whose next hops may be several links away.

    A next hop is found by the table itself, the longest prefix first (as zebra does, which takes no
    default route for it). A route whose next hop is not found is not in the table.
    """
    known = {route.to for route in routes if _is_own(table.get(route.to))}
    left = [route for route in routes if route.to not in known]
    found: Table = {}
    # A next hop may be behind another static route.
    for _ in left:
        before = found
        found = {}
        for route in left:
            hops = DISCARD if route.via is None else _toward(route, {**table, **before})
            if hops is not None:
                found[route.to] = found.get(route.to, DISCARD) | hops
        if found == before:
            break
    return {**table, **found}


def _is_own(hops: Hops | None) -> bool:
    """Return True if a prefix is a network of the router itself."""
    return bool(hops) and any(hop.gateway is None for hop in hops or ())


def _toward(route: StaticRoute, table: Table) -> Hops | None:
    """Return the next hops that lead to the `via` of a static route; None if nothing does."""
    gateway = ip_address(route.via or "")
    covering = [
        (network.prefixlen, prefix)
        for prefix in table
        if prefix != route.to
        and (network := ip_network(prefix)).version == gateway.version
        and network.prefixlen > 0
        and gateway in network
    ]
    if not covering:
        return None
    hops = table[max(covering)[1]]
    if _is_own(hops):
        return frozenset(NextHop(hop.device, str(gateway)) for hop in hops)
    return hops or None
