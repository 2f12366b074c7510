"""The identifiers of links between machines. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

IDENTIFIERS = (1 << 24) - 1
"""The largest VXLAN network identifier (RFC 7348, section 5)."""


def identifiers(lab: str, links: Iterable[str]) -> dict[str, int]:
    """Return the VXLAN network identifier of each link: from 1 on, no two the same.

    It is made of the names of lab and link, so that an edit changes that of no other link, unless
    two meet: the later one by name then takes the next number that is free.
    """
    taken: dict[int, str] = {}
    for link in sorted(links):
        digest = hashlib.blake2b(f"{lab}/{link}".encode(), digest_size=4).digest()
        number = int.from_bytes(digest, "big") % IDENTIFIERS
        while number + 1 in taken:
            number = (number + 1) % IDENTIFIERS
        taken[number + 1] = link
    return {link: number for number, link in taken.items()}
