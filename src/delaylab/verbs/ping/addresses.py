"""Addresses of a ping: the destination's, and the address or interface to send from."""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass

from delaylab.errors import BadInput

IPV4 = 4


@dataclass(frozen=True, slots=True)
class PingOrigin:
    """The origin of packets: an address of this machine, or one of its interfaces."""

    address: str | None = None
    interface: str | None = None

    @property
    def version(self) -> int | None:
        """Return the IP version of the address; None without one."""
        return None if self.address is None else ipaddress.ip_address(self.address).version


ANYWHERE = PingOrigin()
"""The address and the interface that the routing table chooses."""


def resolve(host: str, version: int | None, interface: str | None = None) -> str:
    """Return a host's address, with the zone if it is valid on one link only (RFC 4007).

    The interface to send from is the zone of an address without one. Raises BadInput if the host
    has no address, or a link-local one without a zone.
    """
    if version != IPV4 and _has_zone(host):
        # Only where the packets are sent it is known which interfaces there are.
        return host
    family = {None: socket.AF_UNSPEC, 4: socket.AF_INET, 6: socket.AF_INET6}[version]
    try:
        found = socket.getaddrinfo(host, None, family, socket.SOCK_DGRAM)
    except OSError as error:
        raise BadInput(f"no address for {host!r}: {error.strerror}") from None
    # Unlike the socket's address itself, this text has the zone.
    numeric = socket.NI_NUMERICHOST | socket.NI_NUMERICSERV
    address, _ = socket.getnameinfo(found[0][4], numeric)
    if ":" in address and not _has_zone(address) and ipaddress.ip_address(address).is_link_local:
        if interface is not None:
            return f"{address}%{interface}"
        what = f"{address} is link-local: each interface may lead to another host of that address"
        raise BadInput(what, fix=f"name the interface: {address}%INTERFACE")
    return address


def find_origin(text: str) -> PingOrigin:
    """Return an address of this machine, or one of its interfaces; raise BadInput if it is none."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return PingOrigin(interface=_interface(text))
    family = socket.AF_INET if address.version == IPV4 else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((text, 0))
    except OSError as error:
        what = f"nothing can be sent from {text}: {error.strerror}"
        raise BadInput(what, "--source", "give an address of this machine: ip addr") from None
    return PingOrigin(address=text)


def is_here(address: str) -> bool:
    """Return True for an address of this machine, in the network of this process."""
    try:
        family, kind, protocol, _, at = socket.getaddrinfo(
            address, 0, type=socket.SOCK_DGRAM, flags=socket.AI_NUMERICHOST
        )[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.bind(at)
    except OSError:
        return False
    return True


def _interface(name: str) -> str:
    try:
        socket.if_nametoindex(name)
    except (OSError, ValueError):
        what = f"{name!r} is neither an address nor an interface of this machine"
        raise BadInput(what, "--source", "see ip addr") from None
    return name


def _has_zone(host: str) -> bool:
    try:
        return ipaddress.IPv6Address(host).scope_id is not None
    except ValueError:
        return False
