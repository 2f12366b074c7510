"""The sign by which a lab's routers are ready."""

from __future__ import annotations

from dataclasses import dataclass

NAMED = 3
"""The most routers of a part that are named."""


@dataclass(frozen=True)
class Converged:
    """The routers of a lab whose tables are right, and the seconds until they were.

    `unforeseen` says why the right tables are not known; then nothing was waited for. `parts` has
    the sets of routers that no link joins to each other, the largest first.
    """

    routers: int
    after_s: float
    unforeseen: str | None = None
    parts: tuple[tuple[str, ...], ...] = ()

    def line(self) -> str:
        """Return it as a sentence."""
        if self.unforeseen is not None:
            return f"the forwarding tables of the routers were not checked: {self.unforeseen}"
        line = (
            f"the forwarding tables of {self.routers} routers are right, {self.after_s:.1f} s "
            "after their daemons were started"
        )
        return line + self._cut()

    def _cut(self) -> str:
        """Return that the network is in several parts, if it is."""
        if len(self.parts) < 2:
            return ""
        smallest = self.parts[-1]
        more = f" and {len(smallest) - NAMED} more" if len(smallest) > NAMED else ""
        return (
            f"; no link joins the {len(self.parts)} parts of the network, one of them is "
            f"{', '.join(smallest[:NAMED])}{more}"
        )
