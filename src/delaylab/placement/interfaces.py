"""Choice of the interface of a host that carries a link to other hosts."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass

from delaylab.placement.problem import MOST_MACS, Host, Infeasible, Interface, NumberedLink, Problem
from delaylab.units import Rate


@dataclass(frozen=True)
class HostEnd:
    """A host's end of a link that leaves it, or that of one `node` of a host with `across`."""

    link: str
    host: str
    interface: str
    node: str | None = None


@dataclass(frozen=True)
class _Leaving:
    """A host that a link leaves, by its number; of a host with `across`, with one of its nodes."""

    host: int
    node: int | None = None


def ends_of(
    problem: Problem, host_of: tuple[int, ...], *, must_fit: bool = True
) -> tuple[HostEnd, ...]:
    """Return the interface of each host's end of each link that leaves it.

    Links come by falling bandwidth. Each takes the broadcast domain, and in it the interfaces, that
    it fills the least (worst fit; vem2006, section III C), unless it names one. Hosts without
    `interfaces` have no ends. Raises Infeasible if no interfaces of one domain join the ends of a
    link. With `must_fit`, it raises Infeasible also if a link fits no interface, or a domain has
    more MAC addresses than switches keep.
    """
    used: Counter[tuple[int, str]] = Counter()
    macs: Counter[str] = Counter()
    found: list[HostEnd] = []
    for link in sorted(problem.links, key=lambda each: (-each.bandwidth, each.name)):
        leaving = _leaving(problem, link, host_of)
        if not leaving:
            continue
        chosen = _chosen(problem, link, leaving, used, must_fit=must_fit)
        for each, interface in zip(leaving, chosen, strict=True):
            used[each.host, interface.name] += link.bandwidth
            node = None if each.node is None else problem.nodes[each.node]
            found.append(HostEnd(link.name, problem.hosts[each.host].name, interface.name, node))
        macs[chosen[0].domain] += len(link.members)
    for domain, count in macs.items():
        if must_fit and count > MOST_MACS:
            raise Infeasible(
                f"broadcast domain {domain!r} has {count} MAC addresses, {count - MOST_MACS} more "
                "than a switch keeps",
                fix="divide the interfaces into more domains",
            )
    return tuple(found)


def _leaving(problem: Problem, link: NumberedLink, host_of: tuple[int, ...]) -> list[_Leaving]:
    """Return the ends by which a link leaves hosts with interfaces; none if it leaves no host."""
    found: list[_Leaving] = []
    on = defaultdict[int, list[int]](list)
    for member in link.members:
        on[host_of[member]].append(member)
    for host, here in sorted(on.items()):
        across = problem.hosts[host].across
        found += [_Leaving(host, member) for member in here] if across else [_Leaving(host)]
    if len(found) < 2:
        return []
    return [each for each in found if problem.hosts[each.host].interfaces]


def _chosen(
    problem: Problem,
    link: NumberedLink,
    leaving: list[_Leaving],
    used: Counter[tuple[int, str]],
    *,
    must_fit: bool,
) -> list[Interface]:
    hosts = [problem.hosts[each.host] for each in leaving]
    domains = sorted(frozenset.intersection(*(host.domains for host in hosts)))
    if not domains:
        names = ", ".join(dict.fromkeys(host.name for host in hosts))
        raise Infeasible(f"link {link.name!r} joins hosts {names}, which share no broadcast domain")
    best: tuple[float, list[Interface]] | None = None
    for domain in domains:
        emptiest = _emptiest(problem, link, leaving, domain, used)
        if emptiest is None:
            continue
        fullest = max(
            (used[each.host, interface.name] + link.bandwidth) / interface.rate
            for each, interface in zip(leaving, emptiest, strict=True)
        )
        if best is None or fullest < best[0]:
            best = fullest, emptiest
    if best is None:
        raise _no_domain(link, hosts)
    for each, interface in zip(leaving, best[1], strict=True):
        over = used[each.host, interface.name] + link.bandwidth - interface.rate
        if must_fit and over > 0:
            needs, lacks = Rate(link.bandwidth), Rate(over)
            raise Infeasible(
                f"link {link.name!r} needs {needs} of an interface of host "
                f"{problem.hosts[each.host].name!r}; the emptiest, {interface.name}, lacks {lacks} "
                "of it"
            )
    return best[1]


def _emptiest(
    problem: Problem,
    link: NumberedLink,
    leaving: list[_Leaving],
    domain: str,
    used: Counter[tuple[int, str]],
) -> list[Interface] | None:
    """Return the emptiest interface of a domain for each end; None if an end finds none there.

    Nodes of one host with `across` get one each.
    """
    named, taken = dict(link.interfaces), set[tuple[int, str]]()
    found = []
    for end in leaving:
        host = problem.hosts[end.host]
        inside = [
            interface
            for interface in host.interfaces
            if interface.domain == domain
            and (end.host, interface.name) not in taken
            and named.get(host.name, interface.name) == interface.name
        ]
        if not inside:
            return None
        found.append(
            min(inside, key=lambda each: (used[end.host, each.name] / each.rate, each.name))
        )
        taken.add((end.host, found[-1].name))
    return found


def _no_domain(link: NumberedLink, hosts: list[Host]) -> Infeasible:
    """Return the error for a link whose ends find no interfaces of one broadcast domain."""
    for host in hosts:
        nodes, names = hosts.count(host), len(host.interfaces)
        if nodes > max(sum(a.domain == b.domain for b in host.interfaces) for a in host.interfaces):
            return Infeasible(
                f"link {link.name!r} joins {nodes} nodes of host {host.name!r}, each of which "
                f"leaves by an interface of its own (`across`); the host has {names}",
                fix="give it more interfaces of one domain, or join fewer of its nodes",
            )
    named = ", ".join(f"{host} by {interface}" for host, interface in link.interfaces)
    return Infeasible(
        f"link {link.name!r} leaves {named}: not all of its hosts reach each other that way",
        fix="name interfaces of one broadcast domain",
    )
