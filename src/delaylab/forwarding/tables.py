"""The forwarding table of a node, and what changes in it.

A table has the routes by which a node forwards: of each destination prefix the routes of the least
metric in the kernel's main table. A prefix is written as `ipaddress` writes it, without host bits:
`198.18.0.0/31`, `fd00::/64`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class NextHop:
    """One next hop of a route: a device of the node, and the gateway there.

    Without a gateway, the destination itself is on the link of the device.
    """

    device: str
    gateway: str | None = None

    def __lt__(self, other: NextHop) -> bool:
        """Order by device, then by the text of the gateway; a hop without one comes first."""
        return (self.device, self.gateway or "") < (other.device, other.gateway or "")

    def __str__(self) -> str:
        return f"dev {self.device}" if self.gateway is None else f"{self.gateway} dev {self.device}"


Hops = frozenset[NextHop]
"""The next hops of a route; of several, the kernel takes one for each flow."""

DISCARD: Final[Hops] = frozenset()
"""The next hops of a route that sends nothing on: `blackhole`, `unreachable` or `prohibit`.

It is not the same as no route: a packet ends here although a shorter prefix has a route.
"""

Table = dict[str, Hops]
"""The forwarding table of a node: the next hops of each prefix."""


@dataclass(frozen=True, slots=True)
class TableChange:
    """A prefix has other next hops than before; `hops` is None if it has no route any more.

    `at_ns` is in ns since 1970, by the clock of the stamps, as in all of these.
    """

    at_ns: int
    node: str
    prefix: str
    hops: Hops | None


@dataclass(frozen=True, slots=True)
class LinkChange:
    """A device of a node has another state than before.

    `up` is True with a carrier (`LOWER_UP`), `admin_up` if the device is set up (`ip link set up`).
    A device that is gone has neither.
    """

    at_ns: int
    node: str
    device: str
    up: bool
    admin_up: bool


@dataclass(frozen=True, slots=True)
class Lost:
    """The kernel dropped messages about a node, whose tables were then read again.

    What changed between the message before and `at_ns` is known, but not when or how often. The
    differences follow as changes at `at_ns`.
    """

    at_ns: int
    node: str


Change = TableChange | LinkChange | Lost


def apply(tables: MutableMapping[str, Table], change: TableChange) -> None:
    """Make a change to the tables of all nodes; a node that has none yet gets one."""
    table = tables.setdefault(change.node, {})
    if change.hops is None:
        table.pop(change.prefix, None)
    else:
        table[change.prefix] = change.hops


@dataclass(frozen=True, slots=True)
class Difference:
    """A prefix that two tables lead to different next hops; None where a table has no route."""

    node: str
    prefix: str
    expected: Hops | None
    actual: Hops | None

    def __str__(self) -> str:
        return f"{self.node}: {self.prefix}: {_worded(self.actual)}, not {_worded(self.expected)}"


def differences(
    expected: Mapping[str, Mapping[str, Hops]],
    tables: Mapping[str, Mapping[str, Hops]],
    prefixes: Iterable[str] | None = None,
) -> list[Difference]:
    """Return where tables are not as expected, in the order of nodes and prefixes.

    Only nodes of `expected` are compared; of each, all prefixes in either table, or `prefixes`.
    """
    listed = None if prefixes is None else set(prefixes)
    wrong = []
    for node in sorted(expected):
        want, have = expected[node], tables.get(node, {})
        every = want.keys() | have.keys() if listed is None else listed
        wrong += [
            Difference(node, prefix, want.get(prefix), have.get(prefix))
            for prefix in sorted(every)
            if want.get(prefix) != have.get(prefix)
        ]
    return wrong


def _worded(hops: Hops | None) -> str:
    if hops is None:
        return "no route"
    return " or ".join(map(str, sorted(hops))) if hops else "discarded"
