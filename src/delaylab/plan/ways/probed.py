"""The packets of a probe, as far as their way depends on them."""

from __future__ import annotations

from typing import Literal, Protocol


class ProbedPackets(Protocol):
    """A probe whose way is asked for, such as that of a study file."""

    @property
    def sender(self) -> str:
        """Return the node that sends the requests."""

    @property
    def to(self) -> str:
        """Return the node that answers them, or the IP address of a host outside of the lab."""

    @property
    def over(self) -> str | None:
        """Return the last link of a request's path; None if the routes decide."""

    @property
    def protocol(self) -> str:
        """Return `icmp`, `udp`, `tcp` or `http`."""

    @property
    def connects(self) -> bool:
        """Return True if each packet has a TCP connection of its own."""

    @property
    def ip(self) -> Literal[4, 6]:
        """Return the IP version of the packets."""
