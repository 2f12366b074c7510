"""V-eM's own heuristic: worst fit, by falling bandwidth (vem2006, section III C)."""

from __future__ import annotations

from heapq import heapify, heappop, heappush

from delaylab.placement.groups import Groups
from delaylab.placement.problem import Infeasible


def worst_fit(groups: Groups) -> list[int]:
    """Return for each group its host.

    Those that are bound to a host come first, then those of several nodes, which need the most
    room, then all by falling bandwidth. Each goes to the host with the fewest nodes; of several, to
    the one with the least load. Where hosts are in different broadcast domains, only those count
    that reach the hosts of the group's neighbours. Raises Infeasible if no host is left.
    """
    free = [each is None for each in groups.pinned]
    order = sorted(
        range(len(free)), key=lambda each: (free[each], -groups.count[each], -groups.load[each])
    )
    return _in_domains(groups, order) if groups.problem.apart else _anywhere(groups, order)


def _anywhere(groups: Groups, order: list[int]) -> list[int]:
    found = [-1] * len(order)
    hosts = range(len(groups.most))
    count, load = [0] * len(hosts), [0.0] * len(hosts)
    heap = [(0, 0.0, host) for host in hosts]
    heapify(heap)
    for group in order:
        host, passed = groups.pinned[group], []
        while host is None:
            if not heap:
                raise no_room(groups, group)
            nodes, carried, candidate = heappop(heap)
            if (nodes, carried) != (count[candidate], load[candidate]):
                continue
            if nodes + groups.count[group] <= groups.most[candidate]:
                host = candidate
            else:
                passed.append((nodes, carried, candidate))
        for each in passed:
            heappush(heap, each)
        found[group] = host
        count[host] += groups.count[group]
        load[host] += groups.load[group]
        heappush(heap, (count[host], load[host], host))
    return found


def _in_domains(groups: Groups, order: list[int]) -> list[int]:
    found = [-1] * len(order)
    hosts = range(len(groups.most))
    count, load = [0] * len(hosts), [0.0] * len(hosts)
    for group in order:
        beside = {found[other] for other, _ in groups.near[group]} - {-1}
        pinned = groups.pinned[group]
        free = [
            host
            for host in (hosts if pinned is None else [pinned])
            if count[host] + groups.count[group] <= groups.most[host]
            and not any((host, other) in groups.problem.apart for other in beside)
        ]
        if not free:
            raise no_room(groups, group)
        host = min(free, key=lambda each: (count[each], load[each], each))
        found[group] = host
        count[host] += groups.count[group]
        load[host] += groups.load[group]
    return found


def no_room(groups: Groups, group: int) -> Infeasible:
    """Return the error of a group that no host takes any more."""
    first = groups.problem.nodes[groups.of.index(group)]
    why = (
        " and reaches the hosts of its neighbours by a common broadcast domain"
        if groups.problem.apart
        else ""
    )
    size = groups.count[group]
    what = f"node {first!r}" if size == 1 else f"the {size} nodes with {first!r}"
    return Infeasible(f"no host has room for {what}{why}")
