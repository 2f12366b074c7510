"""Names of nodes' interfaces: those that a file chooses, `r1:eth1`, and those made of links."""

from __future__ import annotations

import base64
import hashlib
from typing import Annotated

from delaylab.spec.base import INTERFACE, NAME, spelled

IFNAMSIZ = 15
"""The longest interface name (linux/if.h, without the final zero)."""
HASH = 8
"""The letters of five bits at the end of a shortened name: among 20 000 that begin alike, two are
the same in one of 5000 labs."""
TAKEN = frozenset({"lo", "all", "default"})
"""Names that no interface can get: that of the loopback, and those of all interfaces' settings."""
WAY_OUT = "to_outside"
"""The interface of a way outside; no link's name has an underscore."""
OF_KERNEL = frozenset(
    {
        *("tunl0", "sit0", "gre0", "gretap0", "erspan0", "ip_vti0"),
        *("ip6tnl0", "ip6_vti0", "ip6gre0"),
    }
)
"""Interfaces that the kernel itself makes in each network (`net.core.fb_tunnels_only_for_init_net`
is 0), if it has their modules."""
SEPARATOR = ":"
End = Annotated[
    str,
    spelled(
        f"{NAME.removesuffix('$')}({SEPARATOR}{INTERFACE[1:-1]})?$",
        "a name of lower-case letters, digits and hyphens, a letter first, at most 31 characters; "
        "`r1:eth1` also names its interface, by at most 15 letters, digits and `_.@-`",
    ),
]
"""A node that a link joins, with the name of its interface if the file chooses one."""


def node_of(end: str) -> str:
    """Return the node of a link's end."""
    return end.partition(SEPARATOR)[0]


def device_of(end: str) -> str:
    """Return the name that the file gives the interface of a link's end; "" if it gives none."""
    return end.partition(SEPARATOR)[2]


def end_of(node: str, device: str) -> str:
    """Return the end of a link: a node, with the name of its interface unless it is ""."""
    return f"{node}{SEPARATOR}{device}" if device else node


def short(name: str) -> str:
    """Return an interface name of at most 15 characters; a longer one ends in a hash."""
    if len(name) <= IFNAMSIZ and name not in TAKEN:
        return name
    digest = base64.b32encode(hashlib.blake2b(name.encode(), digest_size=HASH * 5 // 8).digest())
    return f"{name[: IFNAMSIZ - HASH - 1]}_{digest.decode().lower()}"
