"""The network between the machines of a lab: their addresses, and whether links fit through it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from ipaddress import ip_address
from itertools import combinations, permutations
from typing import TYPE_CHECKING

from delaylab.agent.events import Event
from delaylab.agent.measuring_requests import Probe
from delaylab.agent.result import AgentError, Result
from delaylab.agent.session import Session
from delaylab.agent.wire.measuring import FindRoute, FindRouteDone
from delaylab.errors import DelaylabError, DoesNotFit, NotHere
from delaylab.machines.machine import Machine
from delaylab.machines.ssh import SshMachine
from delaylab.plan.cabling.outward import LanPort, Tunnel
from delaylab.plan.conditions.underlay import RoundTrips
from delaylab.spec.mtus import VXLAN_HEADERS
from delaylab.spec.this_machine import LOCAL_MACHINE

if TYPE_CHECKING:
    from delaylab.resolve.lab import Lab

LOOPBACK = "lo"
PINGS = 100
"""The number of pings between two machines: the p99 of their round trips is one of them."""
PING_EVERY_NS = 2_000_000
LATE_NS = 500_000_000
PINGS_S = 10.0
ROUTE_S = 30.0
"""Seconds that a machine has to say by which interface packets leave."""
AT_ONCE = 200
"""The most routes that are asked for at once: a session takes a file each."""


@dataclass(frozen=True)
class UnderlayRoute:
    """The route from one machine to another; `mtu` is that of its interface, in bytes."""

    interface: str
    source: str | None
    gateway: str | None
    mtu: int


def addresses(lab: Lab, machines: Mapping[str, Machine]) -> dict[str, str]:
    """Return the address of each machine, by which the others reach it.

    It is the lab file's, else the one that ssh has reached; this machine's is the one from which
    its packets to the first other machine come. Raises NotHere if a machine has no such address.
    """
    found: dict[str, str] = {}
    for name, machine in machines.items():
        given = lab.machines[name].address if name in lab.machines else None
        if given is not None:
            found[name] = str(given)
        elif isinstance(machine, SshMachine):
            found[name] = _reached(machine)
    if LOCAL_MACHINE in machines and found:
        first = next(iter(found.values()))
        source = _route(machines[LOCAL_MACHINE], first).source
        if source is None:
            raise NotHere(f"has no address on the way to {first}", "this machine")
        found[LOCAL_MACHINE] = source
    routes = _routes([(machines[name], address) for name, address in found.items()])
    for (name, address), route in zip(found.items(), routes, strict=True):
        if route.interface != LOOPBACK:
            fix = f"machines: {name}: address: ADDRESS"
            raise NotHere(f"{address} is not its own address", f"machine {name}", fix)
    return found


def check(
    tunnels: Iterable[Tunnel | LanPort], machines: Mapping[str, Machine], at: Mapping[str, str]
) -> None:
    """Raise an error if packets of a link do not fit between two machines, or cannot get there."""
    longest: dict[tuple[str, str], Tunnel | LanPort] = {}
    for tunnel in tunnels:
        for peer in tunnel.peers:
            pair = tunnel.machine, peer.machine
            longest[pair] = max(longest.get(pair, tunnel), tunnel, key=lambda each: each.mtu)
    pairs = [pair for pair in permutations(machines, 2) if pair in longest]
    routes = _routes([(machines[here], at[there]) for here, there in pairs])
    for pair, route in zip(pairs, routes, strict=True):
        _check_pair(longest[pair], pair, route, at[pair[1]])


def lan_interfaces(
    tunnels: Iterable[Tunnel | LanPort], machines: Mapping[str, Machine], at: Mapping[str, str]
) -> dict[str, str]:
    """Return each machine's interface on the LAN, for links that name none."""
    wanted: dict[str, str] = {}
    for tunnel in tunnels:
        if isinstance(tunnel, LanPort) and not tunnel.by:
            wanted.setdefault(tunnel.machine, at[tunnel.peers[0].machine])
    routes = _routes([(machines[here], address) for here, address in wanted.items()])
    return {here: route.interface for here, route in zip(wanted, routes, strict=True)}


def _check_pair(
    tunnel: Tunnel | LanPort, pair: tuple[str, str], route: UnderlayRoute, address: str
) -> None:
    here, there = pair
    if isinstance(tunnel, LanPort):
        _check_lan(tunnel, pair, route)
        return
    room = route.mtu - VXLAN_HEADERS[ip_address(address).version]
    if tunnel.mtu > room:
        raise DoesNotFit(
            f"packets of link {tunnel.link} have up to {tunnel.mtu} bytes, and {room} are left "
            f"for them between machines {here} and {there}: {route.interface} of {here} has MTU "
            f"{route.mtu}",
            f"machine {here}",
            f"give the link `mtu: {room}`, or {route.interface} a larger MTU",
        )


def _check_lan(port: LanPort, pair: tuple[str, str], route: UnderlayRoute) -> None:
    """Raise an error if two machines are not on one LAN, or it has no room for a link's packets.

    An interface that the file names is looked at when the lab is built.
    """
    here, there = pair
    if port.by:
        return
    if route.gateway is not None:
        raise NotHere(
            f"is not on one LAN with machine {there}: packets go by the router {route.gateway}",
            f"machine {here}",
            "`data_plane: vxlan`, or name the machines' `interfaces` on a LAN",
        )
    if port.mtu > route.mtu:
        raise DoesNotFit(
            f"packets of link {port.link} have up to {port.mtu} bytes, and {route.interface} of "
            f"{here} has MTU {route.mtu}",
            f"machine {here}",
            f"give the link `mtu: {route.mtu}`, or {route.interface} a larger MTU",
        )


def round_trips(
    tunnels: Iterable[Tunnel | LanPort], machines: Mapping[str, Machine], at: Mapping[str, str]
) -> list[RoundTrips]:
    """Measure the round trips between the machines that links join.

    Returns them with the longest first, those that are not known before all others.
    """
    joined = {(tunnel.machine, peer.machine) for tunnel in tunnels for peer in tunnel.peers}
    pairs = [pair for pair in combinations(machines, 2) if pair in joined]
    measured = between(pairs, machines, at)
    return sorted(measured, key=lambda each: -max(each.rtt_ns, default=1 << 62))


def between(
    pairs: Iterable[tuple[str, str]], machines: Mapping[str, Machine], at: Mapping[str, str]
) -> list[RoundTrips]:
    """Measure the round trips of pairs of machines by pings, all pairs side by side."""
    started: list[tuple[tuple[str, str], Session, list[int]]] = []
    try:
        for number, (one, other) in enumerate(pairs):
            session = machines[one].session()
            started.append(((one, other), session, []))
            session.start(_pings(at[other], number))
        for _, session, found in started:
            # A machine that does not let its user ping is one whose delay is not known.
            with suppress(AgentError):
                session.finish(PINGS_S, partial(_note, found))
    finally:
        for _, session, _ in started:
            session.close()
    return [RoundTrips(*pair, PINGS, tuple(found)) for pair, _, found in started]


def _pings(address: str, number: int) -> Probe:
    return Probe(
        probe=number + 1,
        protocol="icmp",
        to=address,
        ident=33_000 + number % 20_000,
        count=PINGS,
        interval_ns=PING_EVERY_NS,
        size=56,
        linger_ns=LATE_NS,
        late_ns=LATE_NS,
        stamps=("app", "stack"),
        live=True,
        linger_rtt=True,
    )


def _note(times: list[int], event: Event) -> None:
    packet = event.packet
    if packet is not None and packet.outcome == "replied":
        rtt_ns = packet.rtt_stack_ns or packet.rtt_app_ns
        if rtt_ns is not None:
            times.append(rtt_ns)


def _reached(machine: SshMachine) -> str:
    """Return the address at which ssh has reached a machine, as its sshd states it."""
    words = machine.facts.connection.split() or machine.connection.address_words
    try:
        return str(ip_address(words[2]))
    except (IndexError, ValueError):
        fix = f"machines: {machine.name}: address: ADDRESS"
        what = "does not say at which address it was reached"
        raise NotHere(what, f"machine {machine.name}", fix) from None


def _route(machine: Machine, address: str) -> UnderlayRoute:
    return _routes([(machine, address)])[0]


def _routes(wanted: Sequence[tuple[Machine, str]]) -> list[UnderlayRoute]:
    """Return the route from each machine to an address; all machines are asked at once."""
    found: list[UnderlayRoute] = []
    for first in range(0, len(wanted), AT_ONCE):
        asked: list[tuple[Machine, str, Session, Result[FindRouteDone]]] = []
        try:
            for machine, address in wanted[first : first + AT_ONCE]:
                session = machine.session()
                asked.append((machine, address, session, session.start(FindRoute(to=address))))
            found += [_answered(*each) for each in asked]
        finally:
            for _, _, session, _ in asked:
                session.close()
    return found


def _answered(
    machine: Machine, address: str, session: Session, result: Result[FindRouteDone]
) -> UnderlayRoute:
    try:
        session.finish(ROUTE_S)
        route = result.done
    except AgentError as error:
        what = f"has no route to {address}: {error.what}"
        raise DelaylabError(what, f"machine {machine.name}") from None
    return UnderlayRoute(route.interface, route.source, route.gateway, route.mtu)
