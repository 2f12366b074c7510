"""Placement of small labs with a proof: integer programs for HiGHS (scipy's `milp`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from delaylab.placement.groups import Groups
from delaylab.placement.improve import Assigned
from delaylab.placement.problem import Infeasible

MOST_CHOICES = 160
"""Groups times hosts at most: beyond it the search seldom ends within a minute."""
LONGEST_S = 30.0
"""The longest search of each program. One that ends before it has the same answer each time."""
HAIR = 1e-6
"""A part by which a sum of floating-point numbers may exceed its limit."""


@dataclass(frozen=True)
class Exact:
    """The best placement that was found, and what is proven of it."""

    host_of: list[int]
    least_largest: float
    """The largest use of a host that no placement is below."""
    gap: float
    """The part of its traffic between hosts that a better placement might save; 0: it is best."""


def exact(groups: Groups, start: list[int]) -> Exact:
    """Return the placement with the least traffic between hosts, among those of even load.

    First the largest load is made as small as possible; then traffic, with that load and the
    problem's slack as limit. `start` is a placement by another method, which is the answer if the
    search finds no better one. Raises Infeasible for large labs, and if nothing fits.
    """
    size = len(groups.count) * len(groups.most)
    if size > MOST_CHOICES:
        raise Infeasible(
            f"`exact` is for small labs: {len(groups.count)} nodes on {len(groups.most)} hosts are "
            f"{size} choices, and it takes {MOST_CHOICES}",
            fix="take metis",
        )
    first = _least_largest(groups)
    limit = first * (1 + groups.problem.slack)
    return _least_traffic(groups, start, first, limit)


@dataclass
class _Program:
    """An integer program under construction: columns, and rows with their bounds."""

    groups: Groups
    rows: list[dict[int, float]] = field(default_factory=list)
    low: list[float] = field(default_factory=list)
    high: list[float] = field(default_factory=list)

    def column(self, group: int, host: int) -> int:
        return group * len(self.groups.most) + host

    @property
    def choices(self) -> int:
        return len(self.groups.count) * len(self.groups.most)

    def add(self, row: dict[int, float], low: float, high: float) -> None:
        self.rows.append(row)
        self.low.append(low)
        self.high.append(high)

    def add_places(self) -> None:
        """Add that each group is on one host, and what hosts take by number and by domain."""
        groups = self.groups
        hosts = range(len(groups.most))
        for group in range(len(groups.count)):
            self.add({self.column(group, host): 1.0 for host in hosts}, 1, 1)
        for host in hosts:
            row = {self.column(each, host): float(n) for each, n in enumerate(groups.count)}
            self.add(row, 0, groups.most[host])
        for one, near in enumerate(groups.near):
            for two, _ in near:
                for here, there in groups.problem.apart if one < two else ():
                    self.add({self.column(one, here): 1.0, self.column(two, there): 1.0}, 0, 1)

    def loads(self, host: int) -> dict[int, float]:
        """Return the row of a host's use: its load as a part of an even one."""
        even = self.groups.even[host]
        return {self.column(each, host): load / even for each, load in enumerate(self.groups.load)}

    def most_of_column(self) -> list[float]:
        """Return 1 for each choice that is open; 0 where a group is bound to another host.

        Hosts that are alike may change places: the n-th group then needs the first n only.
        """
        groups, hosts = self.groups, range(len(self.groups.most))
        alike = (
            all(each is None for each in groups.pinned)
            and len(set(groups.problem.hosts_alike)) == 1
        )
        return [
            float(bound in (None, host) and (not alike or host <= group))
            for group, bound in enumerate(groups.pinned)
            for host in hosts
        ]

    def solve(self, cost: list[float], most: list[float], integer: list[int]) -> _Solved:
        where = [(row, col) for row, each in enumerate(self.rows) for col in each]
        values = [value for each in self.rows for value in each.values()]
        at = np.array(where, dtype=np.int64).T
        matrix = csr_array((values, (at[0], at[1])), shape=(len(self.rows), len(cost)))
        found = milp(
            np.array(cost),
            integrality=np.array(integer),
            bounds=Bounds(0, np.array(most)),
            constraints=LinearConstraint(matrix, np.array(self.low), np.array(self.high)),
            options={"time_limit": LONGEST_S},
        )
        bound = found.mip_dual_bound
        return _Solved(found.x, None if bound is None else float(bound), found.status == 2)


@dataclass(frozen=True)
class _Solved:
    x: np.ndarray | None
    bound: float | None
    impossible: bool


def _least_largest(groups: Groups) -> float:
    """Return the least possible largest use, as far as it is proven."""
    program = _Program(groups)
    program.add_places()
    largest = program.choices
    for host in range(len(groups.most)):
        program.add({**program.loads(host), largest: -1.0}, -np.inf, 0)
    cost = [0.0] * largest + [1.0]
    most = [*program.most_of_column(), np.inf]
    solved = program.solve(cost, most, [1] * largest + [0])
    if solved.impossible:
        raise Infeasible("no placement keeps the numbers of nodes and the broadcast domains")
    return max(groups.bound, solved.bound or 0.0)


def _least_traffic(groups: Groups, start: list[int], least: float, limit: float) -> Exact:
    program = _Program(groups)
    program.add_places()
    hosts = range(len(groups.most))
    before = Assigned(groups, list(start))
    used = max(load / even for load, even in zip(before.load, groups.even, strict=True))
    fits = used <= limit * (1 + HAIR)
    for host in hosts:
        program.add(program.loads(host), 0, limit * (1 + HAIR))
    saved: list[float] = []
    for one, two, bandwidth in _pairs(groups):
        for host in hosts:
            # `same` is 1 at most if both groups are on this host.
            same = program.choices + len(saved)
            for group in (one, two):
                program.add({same: 1.0, program.column(group, host): -1.0}, -np.inf, 0)
            saved.append(-bandwidth)
    whole = sum(bandwidth for _, _, bandwidth in _pairs(groups))
    unit = whole or 1.0
    cost = [0.0] * program.choices + [each / unit for each in saved]
    most = program.most_of_column() + [1.0] * len(saved)
    solved = program.solve(cost, most, [1] * program.choices + [0] * len(saved))
    found = _read(program, solved)
    if found is None and not fits:
        raise Infeasible("no placement was found that evens out the load within its slack")
    candidates = [Assigned(groups, each) for each in (found, list(start) if fits else None) if each]
    best = min(candidates, key=Assigned.crossing)
    crossing = best.crossing()
    proven = max(0.0, whole + (solved.bound if solved.bound is not None else -1.0) * unit)
    gap = 0.0 if crossing <= 0 else max(0.0, 1 - proven / crossing)
    return Exact(best.host_of, least, 0.0 if gap < HAIR else gap)


def _pairs(groups: Groups) -> Iterator[tuple[int, int, float]]:
    for one, near in enumerate(groups.near):
        for two, bandwidth in near:
            if one < two and bandwidth > 0:
                yield one, two, bandwidth


def _read(program: _Program, solved: _Solved) -> list[int] | None:
    if solved.x is None:
        return None
    chosen = solved.x[: program.choices].reshape(len(program.groups.count), -1)
    return [int(host) for host in chosen.argmax(axis=1)]
