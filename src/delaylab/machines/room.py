"""The room that the network between machines leaves for the packets of links."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from ipaddress import ip_address
from itertools import permutations

from delaylab.agent.result import AgentError
from delaylab.agent.wire.measuring import FindRoute
from delaylab.machines.machine import Machine
from delaylab.resolve.lab import Lab, Link
from delaylab.spec.mtus import USUAL, VXLAN_HEADERS

LEAST = 1280
"""The smallest MTU of a link (RFC 8200, section 5)."""
ANSWER_S = 30.0
Pair = tuple[str, str]


def mtus(
    lab: Lab, machines: Mapping[str, Machine], addresses: Callable[[], Mapping[str, str]]
) -> dict[str, int]:
    """Return an MTU for each link between machines that has none in the file.

    It is what the machines' cards and the tunnel leave, 1500 at most. Cards that a file names for
    `data_plane: ethernet` are not asked. `addresses` returns the machines' addresses.
    """
    crossing = {
        name: pairs
        for name, link in lab.links.items()
        if not link.mtu_stated and (pairs := _pairs(lab, link))
    }
    # Links between machines need root, which is said later on.
    if not crossing or not all(machine.rights().root for machine in machines.values()):
        return {}
    at = addresses()
    room = _room(lab, {pair for pairs in crossing.values() for pair in pairs}, machines, at)
    return {
        name: max(LEAST, min(USUAL, *(room.get(pair, USUAL) for pair in pairs)))
        for name, pairs in crossing.items()
    }


def _pairs(lab: Lab, link: Link) -> list[Pair]:
    """Return the pairs of machines between which a link's frames go, each direction apart."""
    return list(permutations(sorted(lab.machines_on(link)), 2))


def _room(
    lab: Lab, pairs: Iterable[Pair], machines: Mapping[str, Machine], at: Mapping[str, str]
) -> dict[Pair, int]:
    """Return the longest packet that a card and a tunnel take between two machines, in bytes.

    All are asked at once. A machine without a route to another one is left out: that is said later
    on.
    """
    asked = []
    found: dict[Pair, int] = {}
    try:
        for pair in pairs:
            named = lab.machines[pair[0]].interfaces if pair[0] in lab.machines else []
            if lab.data_plane == "ethernet" and named:
                continue
            session = machines[pair[0]].session()
            asked.append((pair, session, session.start(FindRoute(to=at[pair[1]]))))
        for pair, session, route in asked:
            try:
                session.finish(ANSWER_S)
            except AgentError:
                continue
            headers = VXLAN_HEADERS[ip_address(at[pair[1]]).version]
            taken = headers if lab.data_plane == "vxlan" else 0
            found[pair] = route.done.mtu - taken
    finally:
        for _, session, _ in asked:
            session.close()
    return found
