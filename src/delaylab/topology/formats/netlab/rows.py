"""Rows that say which field of a lab file one of netlab's becomes, and reasons for the others.

A field of the lab file that is new needs one row here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from delaylab.io.values import Json
from delaylab.topology.formats.containerlab.tree import Tree, text
from delaylab.topology.formats.netlab.shape import Path, is_off, is_on

Put = tuple[tuple[str, ...], Json]
"""The path of a field in the lab file, and its value."""


@dataclass
class Part:
    """A part of the lab file in the making: its fields, by nested names."""

    fields: dict[str, Json] = field(default_factory=dict)

    def put(self, path: tuple[str, ...], value: Json) -> None:
        """Set a field, in the middle of the fields that are there."""
        self.fields = _with(self.fields, path, value)


def _with(said: Mapping[str, Json], path: tuple[str, ...], value: Json) -> dict[str, Json]:
    if len(path) == 1:
        return {**said, path[0]: value}
    inner = said.get(path[0])
    return {**said, path[0]: _with(inner if isinstance(inner, Mapping) else {}, path[1:], value)}


Reader = Callable[[Tree], Json]
"""Returns the value of a lab file, None if no lab file can have it."""


def _seconds(tree: Tree) -> Json:
    found = text(tree)
    return f"{found}s" if re.fullmatch(r"[1-9][0-9]{0,4}", found) else None


def _number(least: int, most: int) -> Reader:
    def read(tree: Tree) -> Json:
        found = text(tree)
        value = int(found) if re.fullmatch(r"[0-9]{1,10}", found) else -1
        return value if least <= value <= most else None

    return read


def _area(tree: Tree) -> Json:
    found = text(tree)
    return found if re.fullmatch(r"[0-9]{1,10}|[0-9]+(\.[0-9]+){3}", found) else None


def _as_number(tree: Tree) -> Json:
    """Return an AS number, also of the form 65000.1."""
    found = text(tree)
    if re.fullmatch(r"[0-9]{1,5}\.[0-9]{1,5}", found):
        high, low = map(int, found.split("."))
        return (high << 16) + low
    return _number(1, 2**32 - 2)(tree)


def _passive(tree: Tree) -> Json:
    return "passive" if is_on(tree) else True


def _spoken(tree: Tree) -> Json:
    """Return that a protocol is not spoken; None for anything but `False`."""
    return False if is_off(tree) else None


def _kbit(tree: Tree) -> Json:
    value = _number(1, 10**9)(tree)
    return None if value is None else f"{value}kbit"


def _text(tree: Tree) -> Json:
    return text(tree) or None


NODE: Mapping[Path, tuple[tuple[str, ...], Reader]] = {
    ("ospf", "area"): (("routing", "ospf", "area"), _area),
    ("ospf", "timers", "hello"): (("routing", "ospf", "hello"), _seconds),
    ("ospf", "timers", "dead"): (("routing", "ospf", "dead"), _seconds),
    ("ospf", "router_id"): (("routing", "router_id"), _text),
    ("router_id",): (("routing", "router_id"), _text),
    ("bgp", "as"): (("routing", "bgp", "as"), _as_number),
    ("cpu",): (("cpu_quota",), lambda tree: f"{value}00%" if (value := text(tree)) else None),
}
"""Fields of a node, or of the topology for all nodes -> those of a node."""
LINK: Mapping[Path, tuple[tuple[str, ...], Reader]] = {
    ("mtu",): (("mtu",), _number(1280, 65535)),
    ("bandwidth",): (("bandwidth",), _kbit),
    ("ospf", "cost"): (("cost",), _number(1, 65535)),
    ("ospf", "passive"): (("ospf",), _passive),
    ("ospf",): (("ospf",), _spoken),
    ("isis", "passive"): (("isis",), _passive),
    ("isis", "metric"): (("cost",), _number(1, 65535)),
    ("isis", "cost"): (("cost",), _number(1, 65535)),
    ("isis",): (("isis",), _spoken),
}
"""Fields of a link -> those of a link. `ospf.area` and `ospf.network_type` are read apart."""
END: Mapping[Path, tuple[tuple[str, ...], Reader]] = {
    ("ospf", "passive"): (("ospf",), _passive),
    ("ospf",): (("ospf",), _spoken),
    ("isis", "passive"): (("isis",), _passive),
    ("isis",): (("isis",), _spoken),
}
"""Fields of an end of a link -> those of a link, by node."""
APART = frozenset(
    {
        *(("device",), ("module",), ("id",), ("role",), ("name",), ("mtu",), ("provider",)),
        *(("type",), ("ifname",), ("prefix",), ("prefix", "ipv4"), ("prefix", "ipv6")),
        *(("ipv4",), ("ipv6",), ("ospf", "area"), ("ospf", "network_type"), ("loopback",)),
        *(("routing", "static"), ("pool",), ("bgp", "as"), ("linkindex",)),
        *(("bridge",), ("loopback", "ipv4"), ("loopback", "ipv6")),
    }
)
"""Fields that are not of one row: the reader of nodes and links takes them, or needs none."""
MODULES = frozenset({"ospf", "bgp", "isis", "routing"})
"""Modules that a lab file has words for."""
WHY: Mapping[str, str] = {
    "validate": "`delaylab converge`, `ping` and `exec` answer such questions",
    "plugin": "a plugin is a program of netlab's",
    "vrf": "a lab has no VRF in its words; `added:` and `start:` of a node have",
    "vrfs": "a lab has no VRF in its words; `added:` and `start:` of a node have",
    "vlan": "a lab has no VLAN in its words; `start:` of a node has",
    "vlans": "a lab has no VLAN in its words; `start:` of a node has",
    "sources": "only `topology-defaults.yml` and extra files beside the topology are read",
    "ospf": "`added:` of `routing` takes lines of FRR or BIRD",
    "bgp": "`added:` of `routing` takes lines of FRR or BIRD",
    "isis": "`added:` of `routing` takes lines of FRR or BIRD",
    "config": "`added:` of `routing` takes lines of FRR or BIRD",
}
"""Reasons why a part is not carried over, where there is more to say than that."""
