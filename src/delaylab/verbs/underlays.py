"""Measurement of the network between the machines of a running lab, for `delaylab link show`."""

from __future__ import annotations

from itertools import combinations

from delaylab.lab.links.underlays import joined, record
from delaylab.lab.running import LiveLab
from delaylab.records.underlays import ClosedWay, MeasuredUnderlay


def measured_now(lab: LiveLab, link: str | None) -> list[MeasuredUnderlay]:
    """Return the network between each two machines that links with conditions join, by pings.

    With `link` those of this link alone. Machines that cannot be reached are left out.
    """
    lost = lab.unreachable
    machines = {name: each for name, each in lab.machines.items() if each.name not in lost}
    pairs = [
        pair
        for pair in combinations(machines, 2)
        if (links := joined(lab.plan, pair)) and (link is None or link in links)
    ]
    if not pairs:
        return []
    from delaylab.machines.underlay import addresses, between  # noqa: PLC0415  most labs have none

    at = addresses(lab.spec, machines)
    return [
        record(
            lab.plan,
            (measured.one, measured.other),
            measured.sent,
            measured.sent - len(measured.rtt_ns),
            measured.rtt_ns,
        )
        for measured in between(pairs, machines, at)
    ]


def closed_now(lab: LiveLab, link: str | None) -> list[ClosedWay]:
    """Return the ways between machines that do not take the frames of a lab's links now.

    With `link` those of this link alone. Machines that cannot be reached are left out.
    """
    if len(lab.machines) == 1:
        return []
    from delaylab.lab.links.crossings import closed  # noqa: PLC0415  most labs have none

    return closed(lab, link)
