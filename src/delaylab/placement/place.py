"""Placement of a lab's nodes on hosts, by each of the methods."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, get_args

from delaylab.extras import needed
from delaylab.placement.groups import Groups, grouped
from delaylab.placement.interfaces import HostEnd, ends_of
from delaylab.placement.partition import metis
from delaylab.placement.problem import Infeasible, Problem
from delaylab.placement.worst_fit import worst_fit

Method = Literal["worst-fit", "metis", "exact"]
METHODS: tuple[Method, ...] = get_args(Method)


@dataclass(frozen=True)
class Placement:
    """Hosts of all nodes, and how good that choice is."""

    problem: Problem
    method: Method | Literal["given"]
    """The method; `given` if the lab itself says where each node goes."""
    host_of: tuple[int, ...]
    """For each node its host."""
    ends: tuple[HostEnd, ...]
    """The interfaces of links between hosts; empty if hosts name none."""
    bound: float
    """The largest use that no placement is below; 1 is an even division of the load."""
    gap: float | None = None
    """The part of the traffic between hosts that a better placement might save, if it is known."""

    @property
    def nodes(self) -> tuple[int, ...]:
        """Return for each host the number of its nodes."""
        found = [0] * len(self.problem.hosts)
        for host in self.host_of:
            found[host] += 1
        return tuple(found)

    @property
    def loads(self) -> tuple[int, ...]:
        """Return for each host the bandwidth of all links of its nodes, in bit/s, by ends."""
        found = [0] * len(self.problem.hosts)
        for node, host in enumerate(self.host_of):
            found[host] += self.problem.load[node]
        return tuple(found)

    @property
    def largest(self) -> float:
        """Return the largest use of a host, as a part of its even share of the load."""
        loads = self.loads if sum(self.loads) else self.nodes
        whole = sum(loads)
        return max(
            load / (share * whole) for load, share in zip(loads, self.problem.share, strict=True)
        )

    @property
    def crossing(self) -> int:
        """Return the bandwidth of links between hosts, in bit/s."""
        return sum(link.bandwidth for link in self.problem.links if self._crosses(link.members))

    @property
    def crossing_by_host(self) -> tuple[int, ...]:
        """Return for each host the bandwidth of links to other hosts, in bit/s."""
        found = [0] * len(self.problem.hosts)
        for link in self.problem.links:
            hosts = {self.host_of[member] for member in link.members}
            for host in hosts if len(hosts) > 1 else ():
                found[host] += link.bandwidth
        return tuple(found)

    @property
    def cut(self) -> float:
        """Return the part of the links' bandwidth that is between hosts; 0 if none has any."""
        whole = sum(link.bandwidth for link in self.problem.links)
        return self.crossing / whole if whole else 0.0

    def _crosses(self, members: tuple[int, ...]) -> bool:
        return len({self.host_of[member] for member in members}) > 1


@lru_cache(maxsize=32)
def place(problem: Problem, method: Method | Literal["auto"] = "auto") -> Placement:
    """Place the nodes of a problem; the same problem always gets the same answer.

    `auto` is METIS with repair and local search, and worst fit where hosts are in separate
    broadcast domains, which METIS does not know. Raises Infeasible, which says what does not fit.
    """
    groups = grouped(problem)
    if method == "auto":
        method = "worst-fit" if problem.apart else "metis"
    gap, bound = None, groups.bound
    if method == "worst-fit":
        chosen = worst_fit(groups)
    elif method == "metis":
        _refuse_domains(groups)
        chosen = metis(groups)
    else:
        with needed("`exact`, as a method of placement,"):
            from delaylab.placement.exact import exact  # noqa: PLC0415  loads numpy and scipy

        found = exact(groups, worst_fit(groups) if problem.apart else metis(groups))
        chosen, gap, bound = found.host_of, found.gap, found.least_largest
    host_of = tuple(chosen[group] for group in groups.of)
    return Placement(problem, method, host_of, ends_of(problem, host_of), bound, gap)


def measured(problem: Problem) -> Placement:
    """Return the placement of a problem in which every node is bound to a host.

    Raises Infeasible if a host is given more nodes than it takes, or a link joins hosts that do not
    reach each other.
    """
    host_of = tuple(0 if host is None else host for host in problem.pinned)
    bound = grouped(replace(problem, together=())).bound
    ends = ends_of(problem, host_of, must_fit=False)
    return Placement(problem, "given", host_of, ends, bound)


def _refuse_domains(groups: Groups) -> None:
    for one, two in sorted(groups.problem.apart):
        names = groups.problem.hosts[one].name, groups.problem.hosts[two].name
        raise Infeasible(
            f"hosts {names[0]!r} and {names[1]!r} share no broadcast domain, which metis does not "
            "know",
            fix="take worst-fit",
        )
