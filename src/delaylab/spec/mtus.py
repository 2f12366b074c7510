"""The MTUs of links: what the file states, and what is usual where it states none."""

from __future__ import annotations

from collections.abc import Mapping

from delaylab.spec.lab import LabSpec, LinkSpec
from delaylab.spec.names import named_links
from delaylab.spec.this_machine import LOCAL_MACHINE

USUAL = 1500
"""The MTU of Ethernet (IEEE 802.3, 3.2.7), in bytes."""
VXLAN_HEADERS = {4: 50, 6: 70}
"""The bytes that VXLAN adds to a packet, by IP version: Ethernet 14, VXLAN 8, UDP 8, and IP (RFC
7348, 5)."""


def stated(lab: LabSpec, link: LinkSpec) -> int | None:
    """Return the MTU that the file states for a link, or for all; None if it states none."""
    return link.mtu if link.mtu is not None else lab.mtu


def mtu_of(lab: LabSpec, link: LinkSpec) -> int:
    """Return the MTU of a link. Where none is stated, machines' cards are taken to have Ethernet's.

    `up` knows the cards, and gives such links what these leave (`KeptPlan.mtus`).
    """
    found = stated(lab, link)
    if found is not None:
        return found
    tunnelled = lab.data_plane == "vxlan" and len(machines_on(lab, link)) > 1
    return USUAL - VXLAN_HEADERS[4] if tunnelled else USUAL


def with_mtus(lab: LabSpec, found: Mapping[str, int]) -> LabSpec:
    """Return a lab whose links have MTUs that were found, by their names."""
    links = [
        link.model_copy(update={"mtu": found[name]}) if name in found else link
        for name, link in named_links(lab)
    ]
    return lab.model_copy(update={"links": links}) if found else lab


def machines_on(lab: LabSpec, link: LinkSpec) -> set[str]:
    """Return the machines that a link has nodes on, this one included."""
    if not lab.machines:
        return {LOCAL_MACHINE}
    return {lab.machine_of(lab.host_of(node)) or LOCAL_MACHINE for node in link.members}
