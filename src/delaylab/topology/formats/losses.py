"""Losses of a topology: what is not carried over, once, with its first line and its nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from delaylab.spec.source import Location
from delaylab.topology.remarks import Remarks

MOST_NAMED = 3
LONGEST = 60


@dataclass
class _Loss:
    line: int
    nodes: dict[str, None] = field(default_factory=dict)


@dataclass
class Losses:
    """The losses so far, by what it is and why: each has its first line and its nodes."""

    lines: Mapping[Location, int]
    _found: dict[tuple[str, str], _Loss] = field(default_factory=dict)

    def line(self, at: Location) -> int:
        """Return the line of a place, or of the nearest one around it."""
        ends = (at[:end] for end in range(len(at), -1, -1))
        return next((self.lines[end] for end in ends if end in self.lines), 0)

    def lose(self, at: Location, what: str, why: str = "", node: str = "") -> None:
        """Note something that is not carried over."""
        loss = self._found.setdefault((what, why), _Loss(self.line(at)))
        if node:
            loss.nodes[node] = None

    def say(self, remarks: Remarks) -> None:
        """Make remarks of all losses."""
        for (what, why), loss in self._found.items():
            reason = f": {why}" if why else ""
            remarks.lost(loss.line, f"{what} is not carried over{reason}{_of(list(loss.nodes))}")


def short(text: str) -> str:
    """Return a text as a remark quotes it."""
    return repr(text if len(text) <= LONGEST else f"{text[:LONGEST]}…")


def _of(nodes: list[str]) -> str:
    if not nodes:
        return ""
    named = ", ".join(name[:LONGEST] for name in nodes[:MOST_NAMED])
    more = f" and {len(nodes) - MOST_NAMED} more" if len(nodes) > MOST_NAMED else ""
    return f" (node{'s' if len(nodes) > 1 else ''} {named}{more})"
