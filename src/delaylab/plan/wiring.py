"""The links and addresses of a lab as walks by forwarding tables need them. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv6Address

from delaylab.forwarding.walks import End, Wiring
from delaylab.plan.kept import KeptPlan


def wiring(plan: KeptPlan, routers: Iterable[str]) -> Wiring:
    """Return which nodes are on a link together, and whose each address is.

    `routers` are the nodes that forward.
    """
    beyond: dict[End, dict[str, str]] = {}
    owners: dict[str, str] = {}
    for each in plan.every_attachment:
        others = (other for other in plan.on_link(each.link) if other.node != each.node)
        beyond[each.node, each.device] = {other.node: other.device for other in others}
        owners[link_local(each.mac)] = each.node
        for text in each.addresses:
            owners.setdefault(text.partition("/")[0], each.node)
    for name, node in plan.nodes.items():
        for text in node.loopbacks:
            owners.setdefault(text.partition("/")[0], name)
    return Wiring(beyond, owners, frozenset(routers))


def destinations(plan: KeptPlan) -> dict[str, str]:
    """Return the addresses by which nodes are known, each with its node.

    They are those of a node's loopback, else those of its links.
    """
    found: dict[str, str] = {}
    for name, node in plan.nodes.items():
        on_links = [text for each in node.attachments for text in each.addresses]
        for text in node.loopbacks or on_links:
            found.setdefault(text.partition("/")[0], name)
    return found


def link_local(mac: str) -> str:
    """Return the link-local address that a kernel makes of a MAC address (RFC 4291, appendix A)."""
    first, *rest = (int(part, 16) for part in mac.split(":"))
    octets = bytes([first ^ 2, *rest[:2], 0xFF, 0xFE, *rest[2:]])
    return str(IPv6Address(bytes.fromhex("fe80000000000000") + octets))
