"""The interfaces by which links leave for other machines, as in `docs/protocol.md`."""

from __future__ import annotations

from dataclasses import dataclass

from delaylab.io.values import JsonObject

NOT_KNOWN = "?"
"""Stands for an interface of a machine that was not asked, where a plan is printed."""


@dataclass(frozen=True)
class TunnelPeer:
    """Another machine that a link is on, and the MAC addresses of the link's nodes there.

    `address` is the machine's, empty until it is known.
    """

    machine: str
    macs: tuple[str, ...]
    address: str = ""


@dataclass(frozen=True, kw_only=True)
class Tunnel:
    """A link's way to other machines: its frames by VXLAN over the network of `machine`.

    `id` is the VXLAN network identifier, `port` the UDP port. `local` is the machine's address,
    empty until it is known.
    """

    agent: str
    name: str
    link: str
    mac: str
    mtu: int
    id: int
    port: int
    machine: str
    peers: tuple[TunnelPeer, ...]
    local: str = ""


@dataclass(frozen=True, kw_only=True)
class LanPort:
    """A link's way to other machines on a LAN: its frames as they are, by `by` of `machine`.

    `own` are the MAC addresses of the link's nodes here. What they send to an IPv4 multicast group
    leaves to the address `to`. `by` is empty until it is known.
    """

    agent: str
    name: str
    link: str
    mac: str
    mtu: int
    machine: str
    peers: tuple[TunnelPeer, ...]
    own: tuple[str, ...]
    to: str
    by: str = ""


@dataclass(frozen=True)
class MulticastGroups:
    """The multicast groups of links on a LAN, which `machine` joins by its interface `by`."""

    agent: str
    name: str
    mac: str
    machine: str
    groups: tuple[str, ...]
    by: str = ""


Outward = Tunnel | LanPort | MulticastGroups


def outward_message(operation: Outward) -> JsonObject:
    """Return what joins a link with other machines in the fabric's form."""
    if isinstance(operation, Tunnel):
        return _tunnel_message(operation)
    if isinstance(operation, LanPort):
        return _lan_port_message(operation)
    return _groups_message(operation)


def _tunnel_message(tunnel: Tunnel) -> JsonObject:
    """Return a tunnel in the fabric's form; machines whose address is not known have their name."""
    return {
        "do": "tunnel",
        "in": tunnel.agent,
        "name": tunnel.name,
        "mac": tunnel.mac,
        "mtu": tunnel.mtu,
        "id": tunnel.id,
        "port": tunnel.port,
        "local": tunnel.local or tunnel.machine,
        "peers": [
            {"address": peer.address or peer.machine, "macs": list(peer.macs)}
            for peer in tunnel.peers
        ],
    }


def _lan_port_message(port: LanPort) -> JsonObject:
    return {
        "do": "lan",
        "in": port.agent,
        "name": port.name,
        "mac": port.mac,
        "mtu": port.mtu,
        "by": port.by or NOT_KNOWN,
        "from": list(port.own),
        "to": port.to,
        "peers": [mac for peer in port.peers for mac in peer.macs],
    }


def _groups_message(groups: MulticastGroups) -> JsonObject:
    return {
        "do": "groups",
        "in": groups.agent,
        "name": groups.name,
        "mac": groups.mac,
        "by": groups.by or NOT_KNOWN,
        "groups": list(groups.groups),
    }
