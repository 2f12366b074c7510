"""Reader of Kathará's labs: `lab.conf`, `NAME.startup`, and a folder of files for each device."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from delaylab.topology.builder import Builder
from delaylab.topology.edges import Edge
from delaylab.topology.formats.folder import Folder
from delaylab.topology.formats.kathara import addresses
from delaylab.topology.formats.kathara.conf import Conf, Device, conf_of
from delaylab.topology.formats.kathara.devices import Scripts, fields_of, scripts_of
from delaylab.topology.formats.losses import Losses
from delaylab.topology.model import Map, MapLink
from delaylab.topology.names import slug
from delaylab.topology.options import Options
from delaylab.topology.source import Source

NAME = "kathara"
END = re.compile(r"^[ \t]*[A-Za-z0-9_-]+\[[0-9]+\][ \t]*=", re.M)
EXTERNAL = "lab.ext"
OF_SCRIPTS = (
    "`.startup` scripts run as they are; a command of them that fails ends nothing (delaylab logs)"
)
OWN_ROUTES = "`routes: none`: scripts and daemons set the routes"


def fits(source: str) -> bool:
    """Return True for a text with the ends of devices, such as `r1[0]="A"`."""
    return END.search(source[:200_000]) is not None


def read(source: Source, _: Options) -> Map:
    """Read a lab."""
    build = Builder(source.lab, NAME, source.name)
    losses = Losses({(line,): line for line in range(1, len(source.lines()) + 1)})
    conf = conf_of(source, build.remarks)
    folder = Path(source.name).parent
    scripts = {name: scripts_of(folder, name) for name in conf.devices}
    files = Folder(folder)
    for name, device in conf.devices.items():
        build.node(
            name,
            line=device.line,
            label=name,
            forwards=len(set(device.domains.values())) > 1,
            fields=fields_of(device, scripts[name], files, losses, build.remarks),
        )
    _add_domains(conf, build, losses)
    if (folder / EXTERNAL).is_file():
        why = "a node with `interface:` is an interface of this machine"
        losses.lose((), f"`{EXTERNAL}`", why)
    losses.say(build.remarks)
    build.remarks.say(OWN_ROUTES)
    if any(each.startup for each in scripts.values()):
        build.remarks.say(OF_SCRIPTS)
    made = build.finish()
    given = _addresses_by_name(conf, made, scripts)
    links = tuple(_as_pair(addresses.with_addresses(link, given)) for link in made.links)
    whole = {"routes": "none", **({"ip": [4, 6]} if _has_ipv6(conf, scripts) else {})}
    return replace(made, links=links, whole=whole)


def _add_domains(conf: Conf, build: Builder, losses: Losses) -> None:
    """Add each collision domain, with the interfaces on it."""
    seen: set[tuple[str, str]] = set()
    devices_too = {slug(name) for name in conf.devices}
    for name, device in conf.devices.items():
        for number, domain in device.domains.items():
            key = f"domain {domain}"
            if (name, domain) in seen:
                why = "the interface is there and leads nowhere"
                losses.lose((device.line,), "a second interface to one collision domain", why, name)
                key = f"alone {name} {number}"
            seen.add((name, domain))
            wanted = f"lan-{domain}" if slug(domain) in devices_too else domain
            if key.startswith("alone"):
                wanted = f"{name}-eth{number}"
            build.lan(key, device.line, wanted)
            devices = {name: f"eth{number}"}
            build.edge(Edge(a=name, b=key, line=device.line, devices=devices))


def _addresses_by_name(
    conf: Conf, made: Map, scripts: Mapping[str, Scripts]
) -> dict[tuple[str, str], list[str]]:
    """Return the addresses that scripts give, by node of the map and interface."""
    return {
        (node.name, interface): given
        for node, name in zip(made.nodes, conf.devices, strict=True)
        for interface, given in addresses.given_by(scripts[name].startup).items()
    }


def _as_pair(link: MapLink) -> MapLink:
    """Return a collision domain of two nodes as a link between them."""
    if len(link.members) != 2:
        return link
    return replace(link, a=link.members[0], b=link.members[1], members=())


def _has_ipv6(conf: Conf, scripts: Mapping[str, Scripts]) -> bool:
    return any(
        _wants_ipv6(device) or addresses.IPV6.search(scripts[name].startup)
        for name, device in conf.devices.items()
    )


def _wants_ipv6(device: Device) -> bool:
    return device.said.get("ipv6", [""])[-1].lower() == "true"
