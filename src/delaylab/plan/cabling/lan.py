"""Links between machines whose frames leave on a LAN as they are (`data_plane: ethernet`). Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

from delaylab.plan.cabling.outward import LanPort, MulticastGroups
from delaylab.plan.cabling.tunnels import group_mac, groups
from delaylab.plan.stacks import NodeStacks
from delaylab.resolve.agent_names import wire_agent
from delaylab.spec.devices import short
from delaylab.spec.this_machine import LOCAL_MACHINE

TWO = 2
"""The ends of a point-to-point link."""


class Lan:
    """A collector of links' ports on a LAN, and of the groups that machines join there."""

    def __init__(self, stacks: NodeStacks) -> None:
        self._stacks = stacks
        self.ports: list[LanPort] = []
        links = stacks.lab.links if stacks.lab.data_plane == "ethernet" else {}
        self._groups = groups(stacks.full_name, links)
        self._needs = {name: link.bandwidth_bps or 1 for name, link in links.items()}
        self._load: dict[str, dict[str, int]] = {
            name: dict.fromkeys(machine.interfaces, 0)
            for name, machine in stacks.lab.machines.items()
        }
        self._joined: dict[tuple[str, str], list[str]] = defaultdict(list)
        """A machine and its interface -> the groups that it joins by it."""

    def add(self, port: LanPort) -> None:
        """Add a link's port, with the interface that it is on and where multicast leaves to.

        On a link of two nodes it is the other one, else a group of the link's own.
        """
        by = self._interface(port)
        others = [mac for peer in port.peers for mac in peer.macs]
        if len(port.own) + len(others) == TWO:
            self.ports.append(replace(port, by=by, to=others[0]))
            return
        group = self._groups[port.link]
        self.ports.append(replace(port, by=by, to=group_mac(group)))
        self._joined[port.machine, by].append(str(group))

    def _interface(self, port: LanPort) -> str:
        """Take the least loaded of a machine's interfaces; empty if its file names none."""
        loads = self._load.get(port.machine)
        if not loads:
            return ""
        chosen = min(loads, key=lambda name: loads[name])
        loads[chosen] += self._needs[port.link]
        return chosen

    def groups(self) -> Iterator[MulticastGroups]:
        """Yield what each machine joins by each of its interfaces."""
        for (machine, by), joined in self._joined.items():
            wire = wire_agent(None if machine == LOCAL_MACHINE else machine)
            name = short(f"groups.{by}" if by else "groups")
            yield MulticastGroups(
                wire, name, self._stacks.mac(wire, name), machine, tuple(joined), by
            )

    def settings(self, machine: str | None) -> dict[str, str]:
        """Return settings of a wire by which its kernel joins groups, and does nothing else there.

        Without an address of its own it would take no query of a switch from a querier to which no
        route leads back (`rp_filter`).
        """
        here = machine or LOCAL_MACHINE
        counts = [len(joined) for (of, _), joined in self._joined.items() if of == here]
        if not counts:
            return {}
        quiet = {f"net.ipv4.conf.{which}.rp_filter": "0" for which in ("all", "default")}
        most = {"net.ipv4.igmp_max_memberships": str(sum(counts))}
        return {**quiet, **most, "net.ipv4.conf.default.arp_ignore": "8"}
