"""The operations that make a lab's network, in an order in which they can be carried out. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from delaylab.plan.model import (
    Address,
    Neighbours,
    Offloads,
    Operation,
    Route,
    Steering,
    TapDevice,
)
from delaylab.plan.network import Network
from delaylab.plan.resolved import resolved
from delaylab.plan.routes.least_cost import routes, routes_of_hosts
from delaylab.plan.routes.reach import Stacks
from delaylab.plan.routes.static import StaticRoutes
from delaylab.resolve.agent_names import AgentName
from delaylab.spec.this_machine import HERE


def operations(network: Network) -> Iterator[Operation]:
    """Yield all operations, in an order in which they can be carried out."""
    cables, lab = network.cables, network.lab
    yield from cables.laid
    yield from cables.inner
    yield from cables.tunnels
    yield from cables.lan.ports
    yield from cables.lan.groups()
    yield from cables.bridges.values()
    yield from network.addresses
    loopbacks = {network.stacks.networks[node]: own for node, own in lab.loopbacks.items()}
    yield from (Address(agent, "lo", text) for agent, own in loopbacks.items() for text in own)
    yield from _routes(network, loopbacks)
    yield from cables.queues
    yield from cables.capacities.operations()
    yield from _offloads(network)
    if network.conditioned:  # without an engine's links there is nothing to steer or to wait for
        yield from dict.fromkeys(_steering(network))
        yield from dict.fromkeys(_neighbours(network))
    yield from resolved(network.of_systems(), network.stacks.machine)


def _routes(network: Network, loopbacks: Mapping[str, Sequence[str]]) -> Iterator[Route]:
    """Yield the routes over the least cost, where delaylab sets them, and those of the file."""
    lab, machine = network.lab, network.stacks.machine
    given = StaticRoutes(lab, network.attachments, network.stacks.networks)
    if lab.has_paths and (forwarding := network.forwarding):
        stacks = Stacks(network.of_systems(), forwarding, lab.costs, loopbacks)
        found = (
            routes_of_hosts(stacks, machine)
            if lab.has_daemons
            else routes(stacks, machine, multipath=lab.multipath)
        )
        yield from given.without(found)
    yield from given.given


def _steering(network: Network) -> Iterator[Steering]:
    """Yield receive steering that avoids the CPUs of an engine with `steer`.

    Nodes in virtual machines are left out: their stacks are in other kernels.
    """
    engines = {host: network.lab.engine_on(host) for host in network.lab.hosts or (HERE,)}
    for each in (each for of_node in network.attachments.values() for each in of_node):
        engine = engines[each.host]
        if engine.steer and engine.cpus and each.port and not each.other_kernel:
            yield Steering(each.agent, each.device, tuple(engine.cpus))


def _neighbours(network: Network) -> Iterator[Neighbours]:
    """Yield longer waits for neighbours where the kernel's own end before an answer can come.

    It asks three times, once a second, and then says that there is no route (arp(7)).
    """
    from delaylab.resolve.delays import one_way_ns, tries  # noqa: PLC0415  as above

    wanted = {
        link: tries(of_members.values()) for link, of_members in one_way_ns(network.lab).items()
    }
    for each in network.of_systems():
        often = wanted[each.link]
        if often is not None:
            yield Neighbours(each.agent, each.device, often)


def _offloads(network: Network) -> Iterator[Operation]:
    """Yield operations that switch offloads off where packets must be as the link carries them.

    Behind a rate, 64 KiB segments must not appear at any point. The link engine accepts no
    frame that is longer than the MTU.
    """
    exact, lab = set(network.exact), network.lab
    slow = any(host.uplink or host.interfaces for host in lab.hosts.values())
    for cable in network.cables.laid if slow else network.exact:
        ends = (cable.card,) if isinstance(cable, TapDevice) else cable.ends
        for end in ends:
            if end.agent != network.stacks.machine or cable in exact:
                yield Offloads(end.agent, end.name, enabled=False)
    for inner in network.cables.inner:
        if slow and network.stacks.kind(AgentName(inner.card.agent).of).hypervisor_bridged:
            yield Offloads(inner.card.agent, inner.card.name, enabled=False)
