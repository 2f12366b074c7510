"""One end of a probe's way: its attachment, and the points from user space to the wire."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from delaylab.plan.attachment import Attachment, TapPoint
from delaylab.points import IN, OUT, SENDER, TUNNEL, Stack, bare, on_way
from delaylab.resolve.agent_names import node_agent


@dataclass(frozen=True)
class ProbeEnd:
    """One end of a probe's way; `role` is `sender` or `responder`.

    `crosses` is True if the packets leave the host by the link's uplink, `apart` if they leave its
    machine. The tunnel of the responder is before the wire on a request's way, so it is not here.
    """

    role: str
    attachment: Attachment
    crosses: bool
    apart: bool = False

    @property
    def agent(self) -> str:
        """Return the node's own agent."""
        return node_agent(self.attachment.node)

    @property
    def has_cable(self) -> bool:
        """Return True if the node has a virtual interface of its own on the link."""
        return not self.attachment.in_host_stack

    @property
    def uplink_is_own(self) -> bool:
        """Return True if the node sends by its host's uplink itself."""
        return self.crosses and not self.has_cable

    @property
    def stack(self) -> Stack:
        """Return how the node's stack is joined to its host."""
        if not self.has_cable:
            return Stack.HOST
        return Stack.DOMAIN if self.attachment.step("dom0") else Stack.VIRTUAL

    def taps(self) -> list[TapPoint]:
        """Return the taps of this end, from the node outward."""
        return [
            replace(step, point=f"{self.role}.{step.point}")
            for step in self.attachment.outward
            if step.point in ("dom0", "vif")
            or (self.crosses and step.point == "uplink")
            or (self.apart and step.point == TUNNEL and self.role == SENDER)
        ]

    def outward(self, sockets: Iterable[str]) -> list[str]:
        """Return the points from user space to the wire; `sockets` are those that sockets stamp."""
        return self._there(on_way(OUT[self.stack]), sockets)

    def inward(self, sockets: Iterable[str]) -> list[str]:
        """Return the points from the wire to user space."""
        return self._there(on_way(IN[self.stack]), sockets)

    def _there(self, order: Iterable[str], sockets: Iterable[str]) -> list[str]:
        there = {*sockets, *(bare(tap.point) for tap in self.taps())}
        return [f"{self.role}.{point}" for point in order if point in there]

    def absent(self, no_uplink: str) -> dict[str, str]:
        """Return the points that this end does not have, each with the reason.

        `no_uplink` is the reason where the packets do not leave the host.
        """
        reasons = {}
        if self.attachment.step("vif") is None:
            why = "the node has no virtual interface: it is in its host's stack"
            if self.has_cable:
                why = "a point-to-point link on one host has no host end"
            reasons[f"{self.role}.vif"] = why
        if not self.crosses:
            reasons[f"{self.role}.uplink"] = no_uplink
        return reasons
