"""Groups of nodes that one host must carry: what the methods place, in place of single nodes."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass

from delaylab.placement.problem import Infeasible, Problem


@dataclass(frozen=True)
class Groups:
    """The groups of a problem by number; most are of one node."""

    problem: Problem
    of: tuple[int, ...]
    """For each node its group."""
    count: tuple[int, ...]
    """For each group the number of its nodes."""
    load: tuple[float, ...]
    """For each group the bandwidth of its nodes' links; where no link has any, its nodes."""
    pinned: tuple[int | None, ...]
    near: tuple[tuple[tuple[int, float], ...], ...]
    """For each group its neighbours, with the bandwidth between them."""
    most: tuple[int, ...]
    """For each host the nodes that it takes; where the file names no limit, all."""
    even: tuple[float, ...]
    """For each host its part of the whole load, if it could be divided evenly."""

    @property
    def bound(self) -> float:
        """Return the least possible largest use: 1 is an even division of the load.

        No placement is below it: some host carries an even part or more, and one carries the
        heaviest group.
        """
        return max(1.0, max(self.load) / max(self.even))

    def limits(self) -> list[float]:
        """Return for each host the load up to which less traffic between hosts comes first."""
        allowed = self.bound * (1 + self.problem.slack)
        return [part * allowed for part in self.even]


def grouped(problem: Problem) -> Groups:
    """Return the groups of a problem; raise Infeasible if hosts cannot take them by number."""
    of = _joined(len(problem.nodes), problem.together)
    size = max(of, default=-1) + 1
    count, load = [0] * size, [0.0] * size
    names: list[list[str]] = [[] for _ in range(size)]
    unloaded = sum(problem.load) == 0
    bound_to: list[int | None] = [None] * size
    for node, group in enumerate(of):
        count[group] += 1
        load[group] += 1 if unloaded else problem.load[node]
        names[group].append(problem.nodes[node])
        host = problem.pinned[node]
        if host is not None and bound_to[group] not in (None, host):
            one, two = problem.hosts[host].name, problem.hosts[bound_to[group] or 0].name
            raise Infeasible(
                f"{_some(names[group])} must share a host, and the file puts some on {one} and "
                f"some on {two}"
            )
        bound_to[group] = host if host is not None else bound_to[group]
    most = [
        len(problem.nodes) if host.most_nodes is None else host.most_nodes for host in problem.hosts
    ]
    _check_numbers(problem, most, count, names, bound_to)
    return Groups(
        problem=problem,
        of=tuple(of),
        count=tuple(count),
        load=tuple(load),
        pinned=tuple(bound_to),
        near=_near(problem, of, size),
        most=tuple(most),
        even=tuple(share * sum(load) for share in problem.share),
    )


def _joined(nodes: int, pairs: tuple[tuple[int, int], ...]) -> list[int]:
    """Return for each node its group's number; groups are numbered in the order of nodes."""
    parent = list(range(nodes))

    def root(node: int) -> int:
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    for one, two in pairs:
        parent[root(one)] = root(two)
    numbers: dict[int, int] = {}
    return [numbers.setdefault(root(node), len(numbers)) for node in range(nodes)]


def _near(problem: Problem, of: list[int], size: int) -> tuple[tuple[tuple[int, float], ...], ...]:
    near: list[dict[int, float]] = [defaultdict(float) for _ in range(size)]
    for one, two, bandwidth in problem.edges:
        a, b = of[one], of[two]
        if a != b:
            near[a][b] += bandwidth
            near[b][a] += bandwidth
    return tuple(tuple(each.items()) for each in near)


def _check_numbers(
    problem: Problem,
    most: list[int],
    count: list[int],
    names: list[list[str]],
    pinned: list[int | None],
) -> None:
    wanted, taken = len(problem.nodes), sum(most)
    if wanted > taken:
        raise Infeasible(
            f"{wanted} nodes are {wanted - taken} more than the {len(most)} hosts take together "
            f"(`nodes` adds up to {taken})"
        )
    largest = max(range(len(count)), key=count.__getitem__)
    if count[largest] > max(most):
        raise Infeasible(
            f"{_some(names[largest])} must share a host, and none takes more than {max(most)}"
        )
    bound = Counter[int]()
    for size, host in zip(count, pinned, strict=True):
        if host is not None:
            bound[host] += size
    for host, nodes in bound.items():
        if nodes > most[host]:
            raise Infeasible(
                f"{nodes} nodes are bound to host {problem.hosts[host].name!r}, which takes "
                f"{most[host]}"
            )


def _some(names: list[str]) -> str:
    if len(names) <= 4:
        return ", ".join(names)
    return f"{len(names)} nodes ({', '.join(names[:3])}, …)"
