"""Repair and local search: groups move and change places, so that less crosses between hosts."""

from __future__ import annotations

from heapq import nsmallest

from delaylab.placement.groups import Groups
from delaylab.placement.worst_fit import no_room

FEW = 16
"""The least loaded hosts that are tried for a group, beside those of its neighbours."""
NOTHING = -1
"""In place of the group that comes back, for a move that is no swap."""
PASSES = 6
"""Passes over all groups at most; the last ones change little."""
ENOUGH = 0.01
"""The part of the traffic between hosts that a pass must save for another one to follow."""


class Assigned:
    """Groups on hosts, with what changes when one moves."""

    def __init__(self, groups: Groups, host_of: list[int]) -> None:
        self.groups, self.host_of = groups, host_of
        hosts = len(groups.most)
        self.on: list[set[int]] = [set() for _ in range(hosts)]
        self.count, self.load = [0] * hosts, [0.0] * hosts
        for group, host in enumerate(host_of):
            self.on[host].add(group)
            self.count[host] += groups.count[group]
            self.load[host] += groups.load[group]
        self.towards: list[dict[int, float]] = [{} for _ in host_of]
        """For each group the bandwidth to the groups of each host."""
        for group, near in enumerate(groups.near):
            to = self.towards[group]
            for other, bandwidth in near:
                host = host_of[other]
                to[host] = to.get(host, 0.0) + bandwidth

    def move(self, group: int, host: int) -> None:
        """Move a group to a host."""
        groups, before = self.groups, self.host_of[group]
        self.host_of[group] = host
        self.on[before].discard(group)
        self.on[host].add(group)
        for sign, where in ((-1, before), (1, host)):
            self.count[where] += sign * groups.count[group]
            self.load[where] += sign * groups.load[group]
        for other, bandwidth in groups.near[group]:
            to = self.towards[other]
            to[before] -= bandwidth
            to[host] = to.get(host, 0.0) + bandwidth

    def crossing(self) -> float:
        """Return the bandwidth between hosts, each pair of groups counted once."""
        host_of = self.host_of
        return (
            sum(
                bandwidth
                for group, to in enumerate(self.towards)
                for host, bandwidth in to.items()
                if host != host_of[group]
            )
            / 2
        )


def repaired(groups: Groups, host_of: list[int]) -> Assigned:
    """Return a placement in which no host has more nodes than it takes, and loads are evened out.

    Groups leave overloaded hosts for those that have room, at the least cost in traffic. Raises
    Infeasible if a group finds no room.
    """
    now = Assigned(groups, host_of)
    limits = groups.limits()
    for host in range(len(groups.most)):
        while now.count[host] > groups.most[host]:
            _send_off(now, host, limits)
    for host in sorted(range(len(limits)), key=lambda each: -now.load[each] / limits[each]):
        while now.load[host] > limits[host] and _relieve(now, host, limits):
            pass
    return now


def _send_off(now: Assigned, host: int, limits: list[float]) -> None:
    """Move a group off a host to where there is room for it."""
    groups = now.groups

    def has_room(other: int) -> bool:
        return other != host and now.count[other] < groups.most[other]

    emptiest = nsmallest(
        FEW, filter(has_room, range(len(limits))), key=lambda each: now.load[each] / limits[each]
    )
    best: tuple[float, float, int, int] | None = None
    for group in now.on[host]:
        if groups.pinned[group] is not None:
            continue
        to = now.towards[group]
        here = to.get(host, 0.0)
        for other in {*filter(has_room, to), *emptiest}:
            if now.count[other] + groups.count[group] <= groups.most[other]:
                over = max(0.0, now.load[other] + groups.load[group] - limits[other])
                key = (over, here - to.get(other, 0.0), group, other)
                best = key if best is None else min(best, key)
    if best is None:
        raise no_room(groups, next(iter(now.on[host])))
    now.move(*best[2:])


def _relieve(now: Assigned, host: int, limits: list[float]) -> bool:
    """Lower a host's load by a move or swap that overloads no other; return False if none does."""
    groups, load = now.groups, now.load
    lightest = nsmallest(FEW, range(len(limits)), key=lambda each: load[each] / limits[each])
    best: tuple[float, float, int, int, int] | None = None
    excess = load[host] - limits[host]
    for group in now.on[host]:
        if groups.pinned[group] is not None:
            continue
        to, weight = now.towards[group], groups.load[group]
        here = to.get(host, 0.0)
        for other in {*to, *lightest} - {host}:
            loses = here - to.get(other, 0.0)
            room = limits[other] - load[other]
            if weight <= room and now.count[other] + groups.count[group] <= groups.most[other]:
                key = (max(0.0, excess - weight), loses, group, other, NOTHING)
                best = key if best is None else min(best, key)
            for back in now.on[other]:
                less = weight - groups.load[back]
                if not 0 < less <= room or not _exchangeable(groups, group, back):
                    continue
                left = max(0.0, excess - less)
                if best is None or left <= best[0]:
                    cost = loses - _gain_of(now, back, other, host) + 2 * _between(now, group, back)
                    key = (left, cost, group, other, back)
                    best = key if best is None else min(best, key)
    if best is None:
        return False
    _, _, group, other, returns = best
    now.move(group, other)
    if returns != NOTHING:
        now.move(returns, host)
    return True


def _exchangeable(groups: Groups, one: int, two: int) -> bool:
    return groups.pinned[two] is None and groups.count[one] == groups.count[two]


def _gain_of(now: Assigned, group: int, here: int, there: int) -> float:
    to = now.towards[group]
    return to.get(there, 0.0) - to.get(here, 0.0)


def _between(now: Assigned, one: int, two: int) -> float:
    return sum(bandwidth for other, bandwidth in now.groups.near[one] if other == two)


def improve(now: Assigned) -> None:
    """Move and swap groups while that lowers the traffic between hosts and keeps the limits."""
    before = now.crossing()
    limits = [max(*pair) for pair in zip(now.groups.limits(), now.load, strict=True)]
    for _ in range(PASSES):
        saved = sum(_improve(now, group, limits) for group in range(len(now.host_of)))
        if saved <= ENOUGH * before:
            return


def _improve(now: Assigned, group: int, limits: list[float]) -> float:
    """Make the best move or swap of one group; return the traffic that it saves."""
    groups, to, here = now.groups, now.towards[group], now.host_of[group]
    if groups.pinned[group] is not None or len(to) < 2 - (here not in to):
        return 0.0
    stays, weight, size = to.get(here, 0.0), groups.load[group], groups.count[group]
    best, found, swapped = 0.0, -1, -1
    for host, bandwidth in to.items():
        gain = bandwidth - stays
        if host == here or bandwidth <= 0.0:
            continue
        room = now.count[host] + size <= groups.most[host]
        if room and gain > best and now.load[host] + weight <= limits[host]:
            best, found, swapped = gain, host, -1
            continue
        for back in now.on[host]:
            theirs = now.towards[back]
            total = gain + theirs.get(here, 0.0) - theirs.get(host, 0.0)
            if total <= best or groups.pinned[back] is not None:
                continue
            more = weight - groups.load[back]
            if now.load[host] + more > limits[host] or now.load[here] - more > limits[here]:
                continue
            extra = size - groups.count[back]
            if (
                now.count[host] + extra > groups.most[host]
                or now.count[here] - extra > groups.most[here]
            ):
                continue
            total -= 2 * _between(now, group, back)
            if total > best:
                best, found, swapped = total, host, back
    if found < 0:
        return 0.0
    now.move(group, found)
    if swapped >= 0:
        now.move(swapped, here)
    return best
