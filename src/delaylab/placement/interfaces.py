"""Choice of the interface of a host that carries a link to other hosts."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from delaylab.placement.problem import MOST_MACS, Infeasible, Interface, Link, Problem
from delaylab.units import Rate


@dataclass(frozen=True)
class End:
    """A host's end of a link to other hosts."""

    link: str
    host: str
    interface: str


def ends_of(problem: Problem, host_of: tuple[int, ...]) -> tuple[End, ...]:
    """Return the interface of each host's end of each link between hosts.

    Links come by falling bandwidth. Each takes the broadcast domain, and in it the interfaces, that
    it fills the least (worst fit; vem2006, section III C). Hosts without `interfaces` have no ends.
    Raises Infeasible if a link fits no interface, or a domain has more MAC addresses than switches
    keep.
    """
    used: Counter[tuple[int, str]] = Counter()
    macs: Counter[str] = Counter()
    found: list[End] = []
    for link in sorted(problem.links, key=lambda each: (-each.bandwidth, each.name)):
        hosts = sorted({host_of[member] for member in link.members})
        if len(hosts) == 1 or not all(problem.hosts[host].interfaces for host in hosts):
            continue
        chosen = _chosen(problem, link, hosts, used)
        for host, interface in zip(hosts, chosen, strict=True):
            used[host, interface.name] += link.bandwidth
            found.append(End(link.name, problem.hosts[host].name, interface.name))
        macs[chosen[0].domain] += len(link.members)
    for domain, count in macs.items():
        if count > MOST_MACS:
            raise Infeasible(
                f"broadcast domain {domain!r} has {count} MAC addresses, {count - MOST_MACS} more "
                "than a switch keeps",
                fix="divide the interfaces into more domains",
            )
    return tuple(found)


def _chosen(
    problem: Problem, link: Link, hosts: list[int], used: Counter[tuple[int, str]]
) -> list[Interface]:
    domains = sorted(frozenset.intersection(*(problem.hosts[host].domains for host in hosts)))
    if not domains:
        names = ", ".join(problem.hosts[host].name for host in hosts)
        raise Infeasible(f"link {link.name!r} joins hosts {names}, which share no broadcast domain")
    best: tuple[float, list[Interface]] | None = None
    for domain in domains:
        emptiest = [_emptiest(problem, host, domain, used) for host in hosts]
        fullest = max(
            (used[host, each.name] + link.bandwidth) / each.rate
            for host, each in zip(hosts, emptiest, strict=True)
        )
        if best is None or fullest < best[0]:
            best = fullest, emptiest
    assert best is not None
    for host, each in zip(hosts, best[1], strict=True):
        over = used[host, each.name] + link.bandwidth - each.rate
        if over > 0:
            needs, lacks = Rate(link.bandwidth), Rate(over)
            raise Infeasible(
                f"link {link.name!r} needs {needs} of an interface of host "
                f"{problem.hosts[host].name!r}; the emptiest, {each.name}, lacks {lacks} of it"
            )
    return best[1]


def _emptiest(
    problem: Problem, host: int, domain: str, used: Counter[tuple[int, str]]
) -> Interface:
    inside = [each for each in problem.hosts[host].interfaces if each.domain == domain]
    return min(inside, key=lambda each: (used[host, each.name] / each.rate, each.name))
