"""The sign by which a lab's routers are ready."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Converged:
    """The routers of a lab whose tables are right, and the seconds until they were.

    `unforeseen` says why the right tables are not known; then nothing was waited for.
    """

    routers: int
    after_s: float
    unforeseen: str | None = None

    def line(self) -> str:
        """Return it as a sentence."""
        if self.unforeseen is not None:
            return f"the forwarding tables of the routers were not checked: {self.unforeseen}"
        return (
            f"the forwarding tables of {self.routers} routers are right, {self.after_s:.1f} s "
            "after their daemons were started"
        )
