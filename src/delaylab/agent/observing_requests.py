"""The request for forwarding tables (docs/protocol.md), as a type."""

from __future__ import annotations

from dataclasses import dataclass

from delaylab.agent.wire import observing as wire

MOST_TEXTS = 1 << 20
"""The most prefixes and devices of one observation: those of the whole Internet's table."""
MOST_HOPS, HOPS_OF_PLACE = 1 << 20, 1 << 16
"""The most next hops in all sets of one observation, and for each of its places."""
CHANGES_OF_PLACE, CHANGES_A_SECOND = 1 << 20, 10_000
"""The most changes of each place: at any time, and so many more in each second."""


@dataclass(frozen=True, kw_only=True)
class Observe(wire.Observe):
    """The request to report the forwarding tables of nodes; its tables have so many rows."""

    room_bytes: int = 4 << 20
    parts_ns: int = 10_000_000

    def most_rows(self, table: str, after_s: float) -> int | None:
        """Return the rows of a table: as many as so many places may have."""
        places = max(1, len(self.places))
        return {
            "texts": MOST_TEXTS,
            "hops": min(MOST_HOPS, HOPS_OF_PLACE * places),
            "changes": round(CHANGES_OF_PLACE + CHANGES_A_SECOND * after_s) * places,
        }.get(table)
