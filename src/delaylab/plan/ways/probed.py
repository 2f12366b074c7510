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
        """Return `icmp`, `udp`, `tcp`, or that of a service."""

    @property
    def by_port(self) -> bool:
        """Return True if packets are known by their source port: the sender stamps them by a ring.

        Others have a probe header, and are stamped by the sender's socket.
        """

    @property
    def answered_by_service(self) -> bool:
        """Return True if a service answers, which takes no stamps itself."""

    @property
    def ip(self) -> Literal[4, 6]:
        """Return the IP version of the packets."""
