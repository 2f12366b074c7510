"""Attachments: a node's end of a link, with the way from its device out to the wire."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Interface, IPv6Interface, ip_interface

from delaylab.spec.carrier import CarrierBy


@dataclass(frozen=True)
class TapPoint:
    """An interface where a packet can be stamped: a tap of `agent` on it records `point`.

    Of an attachment, `point` is a bare name of the catalogue (`vif`); of a probe's way, it is the
    full name (`sender.vif`).
    """

    agent: str
    interface: str
    point: str


@dataclass(frozen=True)
class Attachment:
    """A node's end of a link.

    `agent` is the agent in whose network `device` is. `outward` are the interfaces that a packet
    passes from the device to the wire, in order. `port` is the interface by which the link engine
    of `host` carries the frames that the node sends, None on a link without conditions; nodes that
    share a stack share a port. `in_host_stack` is True if the device is an interface of the node's
    host, without a virtual interface of the node's own. `other_kernel` is True if another kernel
    than the host's has the device: a virtual machine's. `carrier` is what takes its carrier, None
    if nothing can.
    """

    node: str
    link: str
    host: str
    agent: str
    device: str
    mac: str
    addresses: tuple[str, ...] = ()
    outward: tuple[TapPoint, ...] = ()
    port: str | None = None
    in_host_stack: bool = False
    other_kernel: bool = False
    carrier: CarrierBy | None = "port"

    def step(self, point: str) -> TapPoint | None:
        """Return the interface of a point outward of the device; None if it has none."""
        return next((step for step in self.outward if step.point == point), None)

    @property
    def address(self) -> str:
        """Return the first address, without its prefix."""
        return self.addresses[0].split("/")[0]

    def interfaces(self) -> list[IPv4Interface | IPv6Interface]:
        """Return the addresses, parsed."""
        return [ip_interface(text) for text in self.addresses]
