"""A note on labs that have more neighbours than the kernel remembers."""

from __future__ import annotations

from collections import defaultdict

from delaylab.machines import Machine
from delaylab.plan.model import Plan, Resolved
from delaylab.records.doubts import Doubt, DoubtKind, doubt


def note_on_neighbours(plan: Plan, machine: Machine) -> list[Doubt]:
    """Return a note if the lab's nodes may know more neighbours than the kernel has room for.

    The room is that of all network namespaces together. Only an administrator can enlarge it, for
    the machine as a whole.
    """
    room = machine.most_neighbours()
    there = [each for each in plan.operations if isinstance(each, Resolved)]
    known = _neighbours(plan) - len({(each.agent, each.on, each.mac) for each in there})
    if room is None or known <= room:
        return []
    text = (
        f"the lab's nodes have {known} neighbours, and the kernel keeps {room} for all networks "
        "together: once more are in use, packets are lost. As root: "
        f"sysctl -w net.ipv4.neigh.default.gc_thresh3={2 * known}"
    )
    return [doubt(DoubtKind.FABRIC, text, "")]


def _neighbours(plan: Plan) -> int:
    stacks: dict[str, set[str]] = defaultdict(set)
    for node in plan.nodes.values():
        for each in node.attachments:
            stacks[each.link].add(each.agent)
    return sum(len(on) * (len(on) - 1) for on in stacks.values())
