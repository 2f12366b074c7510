"""What a host's link engine carries, as `docs/protocol.md` has it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Port:
    """Where a member of a link ends on a host.

    `node`: who sends into it; None behind an uplink, whose frames another host has conditioned.
    `card`: the node's own interface, as (agent, name); None if it is in a virtual machine.
    `macs`: who is behind it.
    """

    port: str
    node: str | None
    card: tuple[str, str] | None
    macs: tuple[str, ...]
    conditions: dict[str, Any]

    def message(self) -> dict[str, Any]:
        """In the form that the engine reads."""
        card = self.card and {"in": self.card[0], "on": self.card[1]}
        return {**asdict(self), "card": card}


@dataclass(frozen=True)
class CarriedLink:
    """One link on one host."""

    link: str
    mtu: int
    members: tuple[Port, ...]

    def message(self) -> dict[str, Any]:
        """In the form that the engine reads."""
        return {**asdict(self), "members": [member.message() for member in self.members]}


@dataclass(frozen=True)
class Change:
    """A change of what is asked of what one node sends on a link."""

    link: str
    node: str
    set: dict[str, Any]


@dataclass(frozen=True)
class Moment:
    """Changes at one time, from the engine's start."""

    at_ns: int
    changes: tuple[Change, ...]


@dataclass(frozen=True)
class Carried:
    """All links of one host that have conditions, and what becomes of them.

    `engine`: `own` or `kernel`.
    """

    engine: str
    seed: int
    realtime: bool
    memory_bytes: int
    links: tuple[CarriedLink, ...]
    timeline: tuple[Moment, ...]

    def message(self) -> dict[str, Any]:
        """In the form that the engine reads."""
        return {**asdict(self), "links": [link.message() for link in self.links]}

    def ports(self, link: str) -> tuple[Port, ...]:
        """The ports of a link; none if the engine does not carry it."""
        return next((one.members for one in self.links if one.link == link), ())
