"""The identifiers of links between machines, and their groups on a LAN. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from ipaddress import IPv4Address

IDENTIFIERS = (1 << 24) - 1
"""The largest VXLAN network identifier (RFC 7348, section 5)."""
GROUPS = 1 << 23
"""The number of MAC addresses of multicast groups."""
FIRST_GROUP = IPv4Address("239.0.0.0")
"""The first group that is an organisation's own (RFC 2365); the last 23 bits of it are 0."""
FLOODED = 256


def identifiers(lab: str, links: Iterable[str]) -> dict[str, int]:
    """Return the VXLAN network identifier of each link: from 1 on, no two the same.

    It is made of the names of the link and of the lab, with its token. So an edit changes that of
    no other link, unless two meet: the later one by name then takes the next number that is free.
    """
    return {link: number + 1 for link, number in _numbers(lab, links, IDENTIFIERS).items()}


def groups(lab: str, links: Iterable[str]) -> dict[str, IPv4Address]:
    """Return the multicast group of each link on a LAN, made as identifiers are.

    No two have the same MAC address, which has the last 23 bits of a group (RFC 1112, 6.4). Groups
    whose address is that of a group for all (224.0.0.0/24) are left out: switches flood these.
    """
    found = _numbers(lab, links, GROUPS - FLOODED)
    return {link: FIRST_GROUP + FLOODED + number for link, number in found.items()}


def group_mac(group: IPv4Address) -> str:
    """Return the MAC address of frames to a multicast group (RFC 1112, section 6.4)."""
    low = int(group) % GROUPS
    return "01:00:5e:" + low.to_bytes(3, "big").hex(":")


def _numbers(lab: str, links: Iterable[str], below: int) -> dict[str, int]:
    """Return a number for each link, no two the same, made of the names of lab and link."""
    taken: dict[int, str] = {}
    for link in sorted(links):
        digest = hashlib.blake2b(f"{lab}/{link}".encode(), digest_size=4).digest()
        number = int.from_bytes(digest, "big") % below
        while number in taken:
            number = (number + 1) % below
        taken[number] = link
    return {link: number for number, link in taken.items()}
