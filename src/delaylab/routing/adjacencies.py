"""The changes of adjacencies that daemons print: when a neighbour was found, or given up."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime

ZONE = {"TZ": "UTC"}
"""The environment of daemons, so that their times are the same in every node."""
_TIME = re.compile(r"^(\d{4})[-/](\d\d)[-/](\d\d) (\d\d):(\d\d):(\d\d)\.(\d{3,6}) ")
_CHANGE = re.compile(
    r"AdjChg: .*(?:Full ->|-> Full)"  # FRR's OSPF
    r"|%ADJCHANGE: .*(?: (?:Up|Down)\b|to (?:Up|Down))"  # its IS-IS and BGP
    r"|: Neighbor .* changed state (?:from Full|.* to Full)"  # BIRD's OSPF
    r"|: BGP session (?:established|closed)"  # BIRD's BGP
)


def changes(printed: str) -> Iterator[int]:
    """Yield the times of changes of adjacencies in what a daemon printed, in ns since 1970.

    They are in the order of the lines. BIRD prints whole ms, FRR whole µs.
    """
    for line in printed.splitlines():
        time = _TIME.match(line)
        if time is not None and _CHANGE.search(line):
            *whole, fraction = time.groups()
            year, month, day, hour, minute, second = map(int, whole)
            seconds = datetime(year, month, day, hour, minute, second, tzinfo=UTC).timestamp()
            yield int(seconds) * 1_000_000_000 + int(fraction.ljust(9, "0"))
