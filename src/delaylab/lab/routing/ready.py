"""The sign by which a lab's routers are ready."""

from __future__ import annotations

from dataclasses import dataclass

NAMED = 3
"""The most routers of a part that are named."""


@dataclass(frozen=True)
class Converged:
    """The routers of a lab whose tables are right, and the seconds until they were.

    With `quiet_s`, the tables have not changed for so long, and `after_s` is when the last one
    did; they still change if `is_quiet` is False, and with `no_route` none did. `unforeseen` says
    why the right tables are not known; without `quiet_s` nothing was waited for then. `parts` has
    the sets of routers that no link joins to each other, the largest first.
    """

    routers: int
    after_s: float
    unforeseen: str | None = None
    parts: tuple[tuple[str, ...], ...] = ()
    quiet_s: float | None = None
    is_quiet: bool = True
    no_route: bool = False

    def line(self) -> str:
        """Return it as a sentence."""
        if self.quiet_s is not None:
            return self._line_of_quiet(self.quiet_s)
        if self.unforeseen is not None:
            return f"the forwarding tables of the routers were not checked: {self.unforeseen}"
        line = (
            f"the forwarding tables of {self._whose} are right, {self.after_s:.1f} s after their "
            "daemons were started"
        )
        return line + self._cut()

    @property
    def _whose(self) -> str:
        return f"{self.routers} router{'s' * (self.routers != 1)}"

    def _line_of_quiet(self, quiet_s: float) -> str:
        whose = f"the forwarding tables of {self._whose}"
        if self.no_route:
            return f"{whose} have not changed since their daemons were started: there are no routes"
        why = self.unforeseen
        known = "" if why is None else f"; which are right is not known: {why}"
        if not self.is_quiet:
            return f"{whose} still change{known}"
        return (
            f"{whose} have been quiet for {quiet_s:g} s, and changed last {self.after_s:.1f} s "
            f"after their daemons were started{known}"
        )

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
