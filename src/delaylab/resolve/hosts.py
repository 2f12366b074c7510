"""Hosts for nodes that name none: a lab becomes a placement problem, and its answer a lab."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from delaylab.placement import (
    Host,
    HostEnd,
    Interface,
    NumberedLink,
    Placement,
    Problem,
    ends_of,
    measured,
    place,
)
from delaylab.resolve.lab import Lab, Link
from delaylab.spec.lab import HostSpec
from delaylab.spec.placing import PlacementSpec


def with_hosts(lab: Lab) -> Lab:
    """Return a lab whose nodes all have a host, if it asks for a placement.

    Raises Infeasible if the hosts cannot take the nodes.
    """
    if lab.place is None or all(node.host is not None for node in lab.nodes.values()):
        return lab
    found = place(problem_of(lab, lab.place), lab.place.by)
    names = [host.name for host in found.problem.hosts]
    nodes = {
        node: spec.model_copy(update={"host": names[host]})
        for (node, spec), host in zip(lab.nodes.items(), found.host_of, strict=True)
    }
    return replace(lab, nodes=nodes, written=lab.written.model_copy(update={"nodes": nodes}))


def placement_of(lab: Lab) -> Placement:
    """Return how good the hosts of a lab's nodes are, whoever chose them."""
    return measured(problem_of(lab, lab.place or PlacementSpec()))


def interfaces_of(lab: Lab, stacks: Mapping[str, str]) -> tuple[HostEnd, ...]:
    """Return the interfaces by which links leave hosts, for a lab whose nodes all have a host.

    `stacks` are the stacks of nodes: those of one stack leave together, as the first of them.
    Raises Infeasible if interfaces in different broadcast domains would have to reach each other.
    """
    if not any(host.interfaces for host in lab.hosts.values()):
        return ()
    problem = problem_of(lab, PlacementSpec(), every_interface=True)
    names, number = problem.nodes, {name: index for index, name in enumerate(lab.hosts)}
    links = []
    for link in problem.links:
        firsts: dict[str, int] = {}
        for member in link.members:
            firsts.setdefault(stacks[names[member]], member)
        members = tuple(firsts.values())
        links.append(replace(link, members=members))
    host_of = tuple(number[lab.host_of(node)] for node in lab.nodes)
    return ends_of(replace(problem, links=tuple(links)), host_of, must_fit=False)


def problem_of(lab: Lab, spec: PlacementSpec, *, every_interface: bool = False) -> Problem:
    """Return the placement problem of a lab.

    A link counts with its `bandwidth`, else with its rate; one without either with the median of
    the others. If no link has any, each counts the same; then only `every_interface` counts
    interfaces.
    """
    number = {name: index for index, name in enumerate(lab.nodes)}
    host_number = {name: index for index, name in enumerate(lab.hosts)}
    needs = bandwidths(lab)
    known = [each for each in needs if each is not None]
    usual = sorted(known)[len(known) // 2] if known else 1
    made = (
        NumberedLink(
            link.name,
            tuple(number[each] for each in link.members),
            usual if need is None else need,
            tuple(link.interfaces.items()),
        )
        for link, need in zip(lab.links.values(), needs, strict=True)
    )
    return Problem(
        nodes=tuple(lab.nodes),
        links=tuple(made),
        # What links need is not known in bit/s then, so it fills no interface.
        hosts=tuple(
            _host(name, host, counted=bool(known) or every_interface)
            for name, host in lab.hosts.items()
        ),
        pinned=tuple(
            None if node.host is None else host_number[node.host] for node in lab.nodes.values()
        ),
        together=() if spec.together is None else _short(lab, spec.together.ns, number),
        slack=float(spec.slack),
    )


def _host(name: str, spec: HostSpec, *, counted: bool) -> Host:
    interfaces = spec.interfaces.items() if counted else ()
    return Host(
        name,
        spec.nodes,
        tuple(Interface(each, said.rate.bps, said.domain) for each, said in interfaces),
        across=spec.across is not None,
    )


def bandwidths(lab: Lab) -> list[int | None]:
    """Return what each link needs, in bit/s; None for those with neither `bandwidth` nor rate."""
    return [_bandwidth(link) for link in lab.links.values()]


def _bandwidth(link: Link) -> int | None:
    """Return what a link needs in the direction that needs more, in bit/s; None if it is unsaid."""
    if link.bandwidth_bps is not None:
        return link.bandwidth_bps
    rates = [sent.first.rate for sent in link.sent.values()]
    return max((each.bps for each in rates if each is not None), default=None)


def _short(lab: Lab, below_ns: int, number: dict[str, int]) -> tuple[tuple[int, int], ...]:
    """Return pairs of nodes on one link, one of whose directions has less delay than that."""
    return tuple(
        (number[link.members[0]], number[other])
        for link in lab.links.values()
        if min(sent.first.delay_ns or 0 for sent in link.sent.values()) < below_ns
        for other in link.members[1:]
    )
