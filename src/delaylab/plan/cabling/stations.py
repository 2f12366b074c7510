"""The MAC addresses of the lab's nodes behind each port of a bridge."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from delaylab.plan.attachment import Attachment
from delaylab.plan.model import Bridge


def behind_ports(
    bridge: Bridge, here: Iterable[Attachment], link: Iterable[Attachment]
) -> Mapping[str, tuple[str, ...]]:
    """Return the MAC addresses of a link's nodes behind each port of one of its bridges.

    `here` are the attachments of the nodes that the bridge is for, `link` those of all nodes. The
    others are behind the port that leads to none of `here`, if there is one.
    """
    macs: dict[str, dict[str, None]] = defaultdict(dict)
    near = set[str]()
    for each in here:
        near.add(each.mac)
        if each.agent == bridge.agent:  # the bridge itself is the node's device
            continue
        # The first of its interfaces there is the port. Later ones lead away from the bridge, as do
        # all of a node whose cable the hypervisor makes: that cable is no port of the plan.
        steps = (step.interface for step in each.outward if step.agent == bridge.agent)
        port = next(steps, None)
        if port in bridge.ports:
            macs[port][each.mac] = None
    outward = [port for port in bridge.ports if port not in macs]
    if len(outward) == 1:
        macs[outward[0]] = {each.mac: None for each in link if each.mac not in near}
    return {port: tuple(of_port) for port, of_port in macs.items() if of_port}
