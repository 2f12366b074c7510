"""The ways of links' frames from one machine to another. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import cycle, islice, permutations

from delaylab.plan.attachment import Attachment, TapPoint
from delaylab.plan.kept import KeptPlan
from delaylab.points import TUNNEL
from delaylab.resolve.lab import Lab
from delaylab.spec.this_machine import LOCAL_MACHINE

DROPPED_BY_BRIDGES = "01:80:c2:00:00:01"
"""The address of pause frames, which end at a bridge's port (IEEE 802.3, annex 31B)."""


@dataclass(frozen=True, kw_only=True)
class Crossing:
    """The way of links' frames from `machine` to `other`, by the interfaces of one of the links.

    `source` and `to` are the MAC addresses of frames that try it, `mtu` the longest packet in
    bytes. By VXLAN, links of one MTU between the same machines share a way.
    """

    machine: str
    other: str
    links: tuple[str, ...]
    mtu: int
    leaves: TapPoint
    arrives: TapPoint
    source: str
    to: str

    @property
    def pair(self) -> tuple[str, str]:
        """Return the machine that sends and the one that receives."""
        return self.machine, self.other


def crossings(lab: Lab, plan: KeptPlan) -> list[Crossing]:
    """Return the ways from machine to machine of a lab's links.

    On a LAN every MAC address of a link is tried, as source and as destination: a switch may know
    some and drop others.
    """
    if not lab.machines_used:
        return []
    found = list(_of_links(lab, plan))
    if lab.data_plane == "ethernet":
        return found
    shared: dict[tuple[str, str, int], Crossing] = {}
    for each in found:
        key = (*each.pair, each.mtu)
        known = shared.get(key, replace(each, links=(), to=DROPPED_BY_BRIDGES))
        links = tuple(dict.fromkeys((*known.links, *each.links)))
        shared[key] = replace(known, links=links)
    return list(shared.values())


def _of_links(lab: Lab, plan: KeptPlan) -> Iterator[Crossing]:
    for name, link in lab.links.items():
        ends: dict[str, dict[str, Attachment]] = {}
        for each in plan.on_link(name):
            machine = plan.machines.get(each.host, LOCAL_MACHINE)
            ends.setdefault(machine, {}).setdefault(each.mac, each)
        mtu = plan.mtus.get(name) or link.mtu
        for machine, other in permutations(ends, 2):
            ours, theirs = ends[machine].values(), ends[other].values()
            count = max(len(ours), len(theirs))
            leaves, arrives = _tunnel(ours), _tunnel(theirs)
            if leaves is None or arrives is None:
                continue
            for one, to in islice(zip(cycle(ours), cycle(theirs), strict=False), count):
                yield Crossing(
                    machine=machine,
                    other=other,
                    links=(name,),
                    mtu=mtu,
                    leaves=leaves,
                    arrives=arrives,
                    source=one.mac,
                    to=to.mac,
                )


def _tunnel(ends: Iterable[Attachment]) -> TapPoint | None:
    """Return the tunnel's interface on one machine, given the attachments of its nodes."""
    return next((step for each in ends if (step := each.step(TUNNEL))), None)
