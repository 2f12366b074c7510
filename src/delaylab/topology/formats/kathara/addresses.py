"""Addresses that `.startup` scripts give, as those of a lab's links.

A link has them where each of its nodes gets one of the same network. Nodes are then found by name
at the addresses that the scripts set.
"""

from __future__ import annotations

import ipaddress
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

from delaylab.spec.addresses import why_no_address
from delaylab.topology.model import MapLink

WITH_IP = re.compile(
    r"^\s*ip\s+(?:-4\s+)?a(?:ddr|ddress)?\s+a(?:dd)?\s+(?P<address>[0-9.]+/[0-9]+)\s+"
    r"(?:broadcast\s+\S+\s+)?dev\s+(?P<interface>eth[0-9]+)\b",
    re.M,
)
WITH_IFCONFIG = re.compile(
    r"^\s*ifconfig\s+(?P<interface>eth[0-9]+)\s+(?P<address>[0-9.]+(?:/[0-9]+)?)"
    r"(?:\s+netmask\s+(?P<mask>[0-9.]+))?",
    re.M,
)
IPV6 = re.compile(r"^\s*(?:ip\s.*\s|ifconfig\s.*\s)[0-9a-f:]*::?[0-9a-f:]*/[0-9]+", re.M | re.I)


def given_by(script: str) -> dict[str, list[str]]:
    """Return the IPv4 addresses with prefix that a script gives each interface."""
    found: dict[str, list[str]] = defaultdict(list)
    for match in WITH_IP.finditer(script):
        found[match["interface"]].append(match["address"])
    for match in WITH_IFCONFIG.finditer(script):
        mask = f"/{match['mask']}" if match["mask"] else ""
        found[match["interface"]].append(f"{match['address']}{mask}")
    return {interface: texts for interface, texts in found.items() if all(map(_prefixed, texts))}


def with_addresses(link: MapLink, given: Mapping[tuple[str, str], list[str]]) -> MapLink:
    """Return a link with the addresses of its nodes, if all have one of the same network."""
    found = {
        node: _interface(texts[0])
        for node in link.ends
        if len(texts := given.get((node, link.device(node)), [])) == 1
    }
    networks = {each.network for each in found.values()}
    different = {each.ip for each in found.values()}
    if len(found) < len(link.ends) or len(networks) != 1 or len(different) < len(found):
        return link
    others = [
        text.split("/")[0]
        for (node, interface), texts in given.items()
        if found.get(node) is None or interface != link.device(node)
        for text in texts
    ]
    if different & {ipaddress.ip_address(text) for text in others}:
        return link
    return replace(link, addresses={node: (str(each),) for node, each in found.items()})


def _interface(text: str) -> ipaddress.IPv4Interface:
    return ipaddress.IPv4Interface(text)


def _prefixed(text: str) -> bool:
    """Return True for an address, with a prefix, that a node of a lab can have."""
    try:
        return "/" in text and not why_no_address(_interface(text))
    except ValueError:
        return False
