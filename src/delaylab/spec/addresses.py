"""Check for addresses that no interface of a node can have."""

from __future__ import annotations

import ipaddress

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Interface = ipaddress.IPv4Interface | ipaddress.IPv6Interface
THIS_NETWORK = ipaddress.ip_network("0.0.0.0/8")
BROADCAST = ipaddress.ip_address("255.255.255.255")


def why_no_address(given: Interface) -> str | None:
    """Return the reason why an address with its prefix cannot be a node's, or None."""
    address, network = given.ip, given.network
    # Networks of two addresses or one have no network or broadcast address (RFC 3021, RFC 6164).
    wide = network.prefixlen < network.max_prefixlen - 1
    reasons = (
        (address in THIS_NETWORK or address.is_unspecified, "it means no address"),
        (address == BROADCAST, "it means all nodes"),
        (address.is_multicast, "it is a multicast address"),
        (address.is_loopback, "it is a loopback address"),
        (getattr(given, "scope_id", None) is not None, "the scope (%) says where it is used"),
        (network.prefixlen == 0, "its network (/0) is all there is"),
        (wide and address == network.network_address, f"it is that of the network {network}"),
        (wide and _is_broadcast(given), f"it is the broadcast address of {network}"),
    )
    return next((why for applies, why in reasons if applies), None)


def outside(text: str) -> Address | None:
    """Return the address of a host, or None if the text is no address.

    Raises ValueError for an address that no single host has.
    """
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    reason = why_no_address(ipaddress.ip_interface(address))
    if address.is_loopback:
        reason = "it is this machine's own"
    if reason or getattr(address, "scope_id", None) is not None or address.is_link_local:
        raise ValueError(f"{text} is no host to probe: {reason or 'it is valid on one link only'}")
    return address


def _is_broadcast(given: Interface) -> bool:
    return given.version == 4 and given.ip == given.network.broadcast_address
