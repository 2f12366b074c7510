"""Placement by graph partitioning: METIS, then repair and local search."""

from __future__ import annotations

from typing import TYPE_CHECKING

from delaylab.placement.groups import Groups
from delaylab.placement.improve import Assigned, improve, repaired

if TYPE_CHECKING:
    from pymetis import CSRAdjacency

HEAVIEST = 1_000_000
"""All groups' weights together, as METIS is given them: it adds in 32 bits."""
WIDEST = 1_000
"""The weight of the edge with the most bandwidth."""
STARTS = 8
"""The partitions that are tried for small labs: METIS's own answer depends on its seed."""
GROUPS_AT_ONCE = 4_000
"""The groups of all starts together, beyond the first start: a large lab has one."""


def metis(groups: Groups) -> list[int]:
    """Return for each group its host: METIS's partition, repaired and improved.

    Small labs take the best of several.
    """
    starts = max(1, min(STARTS, GROUPS_AT_ONCE // len(groups.count)))
    found = [_improved(groups, seed) for seed in range(1, starts + 1)]
    return min(found, key=_cost).host_of


def _improved(groups: Groups, seed: int) -> Assigned:
    now = repaired(groups, partition(groups, seed))
    improve(now)
    return now


def _cost(now: Assigned) -> tuple[float, float]:
    """Return by how much the fullest host exceeds its limit, and the traffic between hosts."""
    limits = now.groups.limits()
    over = (load - limit for load, limit in zip(now.load, limits, strict=True))
    return max(0.0, *over), now.crossing()


def partition(groups: Groups, seed: int) -> list[int]:
    """Return METIS's partition; groups that are bound to a host are on it.

    METIS does not know how many nodes a host takes.
    """
    hosts = len(groups.most)
    if hosts == 1:
        return [0] * len(groups.count)
    import pymetis  # noqa: PLC0415, only labs that are placed need it

    adjacency, widths = _graph(groups)
    whole = sum(groups.load)
    _, parts = pymetis.part_graph(
        hosts,
        adjacency,
        vweights=[1 + round(load / whole * HEAVIEST) for load in groups.load],
        eweights=widths,
        tpwgts=[even / whole for even in groups.even],
        recursive=seed % 2 == 0,
        options=pymetis.Options(seed=seed),
    )
    return _bound(groups, list(parts))


def _graph(groups: Groups) -> tuple[CSRAdjacency, list[int]]:
    """Return the neighbours of all groups, and the weights of the edges in the same order."""
    from pymetis import CSRAdjacency  # noqa: PLC0415

    starts, near, widths = [0], [], []
    widest = max((bandwidth for each in groups.near for _, bandwidth in each), default=0.0) or 1.0
    for each in groups.near:
        for other, bandwidth in each:
            near.append(other)
            widths.append(1 + round(bandwidth / widest * WIDEST))
        starts.append(len(near))
    return CSRAdjacency(starts, near), widths


def _bound(groups: Groups, parts: list[int]) -> list[int]:
    """Give each part the host that most of its bound groups want; put all bound ones there."""
    wishes: dict[tuple[int, int], float] = {}
    for group, host in enumerate(groups.pinned):
        if host is not None:
            wish = parts[group], host
            wishes[wish] = wishes.get(wish, 0.0) + groups.load[group]
    host_of: dict[int, int] = {}
    for (part, host), _ in sorted(wishes.items(), key=lambda item: -item[1]):
        if part not in host_of and host not in host_of.values():
            host_of[part] = host
    hosts = range(len(groups.most))
    free = [host for host in hosts if host not in set(host_of.values())]
    for part in hosts:
        if part not in host_of:
            # METIS made part n for host n, whose share of the load may be its own.
            host_of[part] = part if part in free else free[0]
            free.remove(host_of[part])
    return [
        host_of[part] if host is None else host
        for part, host in zip(parts, groups.pinned, strict=True)
    ]
