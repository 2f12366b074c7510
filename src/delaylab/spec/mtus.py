"""The MTUs of links: what the file states, and what is usual where it states none."""

from __future__ import annotations

from delaylab.spec.lab import LinkSpec

USUAL = 1500
"""The MTU of Ethernet (IEEE 802.3, 3.2.7), in bytes."""
VXLAN_HEADERS = {4: 50, 6: 70}
"""The bytes that VXLAN adds to a packet, by IP version: Ethernet 14, VXLAN 8, UDP 8, and IP (RFC
7348, 5)."""


def stated(of_lab: int | None, link: LinkSpec) -> int | None:
    """Return the MTU that the file states for a link, or for all; None if it states none."""
    return link.mtu if link.mtu is not None else of_lab
