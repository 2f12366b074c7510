"""Interfaces of hosts, whose rates are shared by the links that leave by them. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from delaylab.plan.kept import HostInterface
from delaylab.plan.model import Capacity
from delaylab.plan.stacks import NodeStacks
from delaylab.resolve.agent_names import host_agent, wire_agent
from delaylab.resolve.lab import Link
from delaylab.spec.devices import short

if TYPE_CHECKING:
    from delaylab.placement import HostEnd

ETHERNET_HEADER = 14
BURST_BYTES = 16 * 1024
"""The bytes that may leave at once after a pause, if no frame is longer."""
MOST_BYTES = (1 << 32) - 1
"""The longest queue of a token bucket (linux/pkt_sched.h, `tc_tbf_qopt`)."""


@dataclass(frozen=True)
class _Uplink:
    """A link's cable between a host and the wire."""

    link: str
    near: str
    far: str
    mtu: int


class Capacities:
    """A collector of the uplinks that share each interface of a host.

    An interface has two queues: what leaves the host waits in the host, and what comes to it waits
    in the wire.
    """

    def __init__(self, stacks: NodeStacks) -> None:
        self._stacks = stacks
        ends = _ends(stacks)
        self._chosen = {(end.link, end.host, end.node): end.interface for end in ends}
        self._uplinks: dict[tuple[str, str], list[_Uplink]] = defaultdict(list)
        """A host and its interface -> the uplinks of the links that leave by it."""

    def add(self, link: Link, host: str, node: str | None, near: str, far: str) -> None:
        """Add a link's uplink; `node` is its only one on a host where each leaves by its own."""
        interface = self._chosen.get((link.name, host, node))
        if interface is not None:
            self._uplinks[host, interface].append(_Uplink(link.name, near, far, link.mtu))

    def operations(self) -> Iterator[Capacity]:
        """Yield the two queues of each interface by which a link leaves."""
        for (host, interface), uplinks in self._uplinks.items():
            wire = wire_agent(self._stacks.lab.machine_of(host))
            near, far = (each.near for each in uplinks), (each.far for each in uplinks)
            mtu = max(each.mtu for each in uplinks)
            in_host, in_wire = _queue_names(host, interface)
            yield self._capacity(host, interface, host_agent(host), in_host, mtu, *near)
            yield self._capacity(host, interface, wire, in_wire, mtu, *far)

    def interfaces(self) -> Iterator[HostInterface]:
        """Yield both directions of each interface by which a link leaves, with these links."""
        lab = self._stacks.lab
        for (host, interface), uplinks in self._uplinks.items():
            links = tuple(dict.fromkeys(each.link for each in uplinks))
            rate = lab.hosts[host].interfaces[interface].rate.bps
            in_host, in_wire = _queue_names(host, interface)
            out = HostInterface(
                host=host,
                interface=interface,
                way="out",
                agent=host_agent(host),
                queue=in_host,
                rate_bps=rate,
                links=links,
            )
            yield out
            yield replace(out, way="in", agent=wire_agent(lab.machine_of(host)), queue=in_wire)

    def _capacity(
        self, host: str, interface: str, agent: str, name: str, mtu: int, *of: str
    ) -> Capacity:
        spec, longest = self._stacks.lab.hosts[host].interfaces[interface], mtu + ETHERNET_HEADER
        return Capacity(
            agent=agent,
            name=name,
            mac=self._stacks.mac(agent, name),
            mtu=mtu,
            of=of,
            rate_bps=spec.rate.bps,
            burst_bytes=max(BURST_BYTES, longest),
            limit_bytes=min(spec.queue * longest, MOST_BYTES),
        )


def _queue_names(host: str, interface: str) -> tuple[str, str]:
    """Return the names of an interface's two queues: in its host, and in the wire."""
    # No name of a host or a link has an underscore.
    return short(interface), short(f"{host}_{interface}")


def _ends(stacks: NodeStacks) -> tuple[HostEnd, ...]:
    """Return the interfaces by which links leave hosts, none if no host names its interfaces."""
    if not any(host.interfaces for host in stacks.lab.hosts.values()):
        return ()
    # The methods of placement take 10 ms to import, and few labs name interfaces.
    from delaylab.resolve.hosts import interfaces_of  # noqa: PLC0415

    return interfaces_of(stacks.lab, stacks.networks)
