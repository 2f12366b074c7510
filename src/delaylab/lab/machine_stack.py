"""Check that labs with nodes in this machine's own stack do not share addresses there."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from delaylab.errors import DelaylabError
from delaylab.machines import Machine
from delaylab.plan.kept import KeptPlan

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def check_addresses(plan: KeptPlan, machine: Machine) -> None:
    """Raise DelaylabError if a running lab has one of the plan's networks in this machine's stack.

    Packets to such an address could go to either lab.
    """
    own = list(_networks(plan))
    if not own:
        return
    for other in machine.labs():
        if other.name == plan.lab:
            continue
        theirs = list(_networks(other.plan))
        both = next((net for net in own for one in theirs if _overlap(net, one)), None)
        if both is not None:
            what = f"lab {other.name!r} has {both} in this machine's own stack already"
            fix = "give other `addresses:`, name a host in the lab file, or take that lab down"
            raise DelaylabError(what, fix=fix)


def _networks(plan: KeptPlan) -> Iterator[Network]:
    """Yield the networks of a plan's addresses in this machine's own stack."""
    for attachment in plan.every_attachment:
        if attachment.agent in plan.in_machine:
            yield from (address.network for address in attachment.interfaces())


def _overlap(one: Network, other: Network) -> bool:
    return one.version == other.version and one.overlaps(other)
