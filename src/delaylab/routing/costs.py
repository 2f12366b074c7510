"""Costs of a running router's ends of links: what tells its daemons another one. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from delaylab.routing import bird, frr
from delaylab.spec.routing.model import RoutingSpec

TOLD = "/run/delaylab-costs"
"""The file of a router with the costs that its daemons were told while it runs, a line for each."""
WITHIN_S = 10
"""The seconds that daemons have to take a cost."""


def script(routing: RoutingSpec, ip: Sequence[int], link: str, device: str, cost: int) -> str:
    """Return the shell script that tells a router's daemons the cost of its end of a link.

    The configuration changes as well, so that daemons which start again have the same cost.
    """
    lines = _of_bird(device, cost) if routing.by == "bird" else _of_frr(routing, ip, device, cost)
    return "\n".join(("set -e", *lines, f"echo {link} {cost} >> {TOLD}")) + "\n"


def told(text: str) -> dict[str, int]:
    """Return the cost of each link, by what the scripts wrote into `TOLD`; the last one counts."""
    pairs = (line.split() for line in text.splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) > 1 and pair[1].isdigit()}


def _of_frr(routing: RoutingSpec, ip: Sequence[int], device: str, cost: int) -> Iterator[str]:
    commands = []
    if routing.ospf and 4 in ip:
        commands.append("ip ospf cost")
    if routing.ospf and 6 in ip:
        commands.append("ipv6 ospf6 cost")
    if routing.isis:
        commands.append("isis metric")
    for command in commands:
        block = rf"/^interface {device}$/,/^exit$/ s/^ {command} .*/ {command} {cost}/"
        yield f"sed -i '{block}' {frr.FOLDER}/*.conf"
    said = " ".join(f"-c '{command} {cost}'" for command in commands)
    yield f"timeout {WITHIN_S} vtysh -c 'configure terminal' -c 'interface {device}' {said}"


def _of_bird(device: str, cost: int) -> Iterator[str]:
    begin, end = rf'^    interface "{device}" {{$', "^    };$"
    yield f"sed -i '/{begin}/,/{end}/ s/^      cost .*;/      cost {cost};/' {bird.CONFIG}"
    asked = f"timeout {WITHIN_S} birdc -s {bird.CONTROL} configure"
    yield f"{asked} | grep -q 'Reconfigur'"
