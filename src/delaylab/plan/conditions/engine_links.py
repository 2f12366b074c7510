"""The links that a host's engine carries, in the form of `docs/protocol.md`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from delaylab.io.values import JsonObject, Message
from delaylab.spec.conditions.engine import NOTHING, Conditions

Engine = Literal["own", "kernel"]


@dataclass(frozen=True)
class RemoteCard(Message):
    """A card in a virtual machine, and the socket in the lab's folder where it is answered for."""

    at: str
    on: str


@dataclass(frozen=True, kw_only=True)
class Port(Message):
    """The end of a link's member on a host.

    `node` is the node that sends into the port; it is None behind an uplink, whose frames another
    host has conditioned. `card` is the node's own interface as (agent, name), or None if it is in a
    virtual machine; `carrier` is then how to take the carrier of the one there. `macs` are the MAC
    addresses behind the port. `received` are the conditions that frames for the node pass after
    those of their sender; None if it has none and gets none. `underlay_ns` is the one-way delay
    that the network between machines adds to the node's frames.
    """

    port: str
    macs: tuple[str, ...]
    node: str | None = None
    card: tuple[str, str] | None = None
    carrier: RemoteCard | None = None
    conditions: Conditions = NOTHING
    received: Conditions | None = None
    underlay_ns: int = 0

    def message(self) -> JsonObject:
        """Return the port in the engine's form."""
        return {
            "port": self.port,
            "node": self.node,
            "card": self.card and {"in": self.card[0], "on": self.card[1]},
            **({"carrier": self.carrier.message()} if self.carrier else {}),
            "macs": list(self.macs),
            "conditions": self.conditions.message(),
            **({} if self.received is None else {"received": self.received.message()}),
            **({"underlay_ns": self.underlay_ns} if self.underlay_ns else {}),
        }


@dataclass(frozen=True)
class EngineLink(Message):
    """The part of one link on one host, or one of its parts there (`across`)."""

    link: str
    mtu: int
    members: tuple[Port, ...]


@dataclass(frozen=True)
class Change(Message):
    """A change of the conditions of the frames that one node sends on a link, or receives."""

    link: str
    node: str
    set: Conditions
    receives: bool = False

    def message(self) -> JsonObject:
        """Return the change in the engine's form."""
        receives: JsonObject = {"receives": True} if self.receives else {}
        return {"link": self.link, "node": self.node, **receives, "set": self.set.message()}


@dataclass(frozen=True)
class Moment(Message):
    """The changes at one time after the engine's start, in nanoseconds."""

    at_ns: int
    changes: tuple[Change, ...]


@dataclass(frozen=True)
class EngineLinks(Message):
    """All links with conditions of one host, and the settings of their engine."""

    engine: Engine
    seed: int
    realtime: bool
    memory_bytes: int
    links: tuple[EngineLink, ...]
    timeline: tuple[Moment, ...]

    def ports(self, link: str) -> tuple[Port, ...]:
        """Return the ports of a link; none if the engine does not carry it."""
        return tuple(port for one in self.links if one.link == link for port in one.members)
