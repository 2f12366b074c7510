"""LANs of a source: nodes that are no systems but networks, such as a bridge, become `join:`."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from delaylab.topology import remarks as odd
from delaylab.topology.edges import Edge
from delaylab.topology.model import MapLink
from delaylab.topology.remarks import Remarks


def without_lans(
    edges: list[Edge], lans: Mapping[str, int], remarks: Remarks
) -> tuple[list[Edge], list[MapLink]]:
    """Return the edges that touch no LAN, and a link for each LAN, named by its key.

    `lans` has the line of each LAN.
    """
    home = {key: key for key in lans}
    for edge in edges:
        if edge.a in home and edge.b in home:
            remarks.count(odd.LANS_JOINED, edge.line)
            kept, gone = home[edge.a], home[edge.b]
            home = {key: kept if at == gone else at for key, at in home.items()}
    members: dict[str, dict[str, Edge]] = {home[key]: {} for key in lans}
    rest = []
    for edge in edges:
        lan, node = (edge.a, edge.b) if edge.a in home else (edge.b, edge.a)
        if lan not in home:
            rest.append(edge)
        elif node not in home:
            known = members[home[lan]]
            if node in known and not edge.directed:
                remarks.count(odd.LAN_TWICE, edge.line)
            known.setdefault(node, edge)
    return rest, [
        _link(key, found, lans[key], remarks)
        for key, found in members.items()
        if found or _alone(lans[key], remarks)
    ]


def _alone(line: int, remarks: Remarks) -> bool:
    remarks.count(odd.LAN_ALONE, line)
    return False


def _link(key: str, members: dict[str, Edge], line: int, remarks: Remarks) -> MapLink:
    edges = list(members.values())
    capacities = [edge.capacity for edge in edges if edge.capacity is not None]
    mtus = [edge.mtu for edge in edges if edge.mtu is not None]
    delays = [edge.delay for edge in edges if edge.delay is not None]
    costs = [edge.cost for edge in edges if edge.cost is not None]
    jitters = [edge.jitter for edge in edges if edge.jitter is not None]
    delivered = [1 - Fraction(edge.loss or 0, odd.WHOLE) for edge in edges]
    if len(edges) > 2 and any(
        len(set(values)) > 1 for values in (delays, costs, jitters, delivered)
    ):
        remarks.count(odd.LAN_SUM, line)
    worst = sorted(delivered)[:2]
    loss = round((1 - worst[0] * worst[-1]) * odd.WHOLE) if len(edges) > 1 else 0
    return MapLink(
        "",
        "",
        key,
        delay=sum(sorted(delays)[-2:]) if delays else None,
        capacity=min(capacities, default=None),
        cost=sum(sorted(costs)[-2:], Fraction(0)) if costs else None,
        line=line,
        loss=loss or None,
        jitter=sum(sorted(jitters)[-2:]) or None,
        mtu=min(mtus, default=None),
        devices={
            node: edge.devices[node] for node, edge in members.items() if node in edge.devices
        },
        numbers=tuple(edge.number for edge in edges),
        members=tuple(members),
    )
