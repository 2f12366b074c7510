"""Rows that say which field of a lab file one of netlab's becomes, and reasons for the others.

A field of the lab file that is new needs one row here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from delaylab.io.values import Json
from delaylab.spec.source import Location
from delaylab.topology.formats.containerlab.tree import Tree, text
from delaylab.topology.formats.losses import Losses
from delaylab.topology.formats.netlab import ospf
from delaylab.topology.formats.netlab.readers import (
    Reader,
    address,
    area_of,
    as_number,
    down,
    kbit,
    number,
    passive,
    spoken,
)
from delaylab.topology.formats.netlab.shape import Path


@dataclass
class Part:
    """A part of the lab file in the making: its fields, by nested names."""

    fields: dict[str, Json] = field(default_factory=dict)

    @property
    def routing(self) -> Mapping[str, Json]:
        """Return what a node's part says of its routing."""
        found = self.fields.get("routing")
        return found if isinstance(found, Mapping) else {}

    def put(self, path: tuple[str, ...], value: Json) -> None:
        """Set a field, in the middle of the fields that are there."""
        self.fields = _with(self.fields, path, value)


def _with(said: Mapping[str, Json], path: tuple[str, ...], value: Json) -> dict[str, Json]:
    if len(path) == 1:
        return {**said, path[0]: value}
    inner = said.get(path[0])
    return {**said, path[0]: _with(inner if isinstance(inner, Mapping) else {}, path[1:], value)}


Row: TypeAlias = tuple[tuple[str, ...], Reader]
"""The path of a field in the lab file, and the reader of its value."""
NODE: Mapping[Path, Row] = {
    ("ospf", "area"): (("routing", "ospf", "area"), area_of),
    ("ospf", "router_id"): (("routing", "router_id"), address),
    ("router_id",): (("routing", "router_id"), address),
    ("bgp", "router_id"): (("routing", "router_id"), address),
    ("bgp", "as"): (("routing", "bgp", "as"), as_number),
    ("cpu",): (("cpu_quota",), lambda tree: f"{value}00%" if (value := text(tree)) else None),
}
"""Fields of a node, or of the topology for all nodes -> those of a node."""
LINK: Mapping[Path, Row] = {
    ("mtu",): (("mtu",), number(1280, 65535)),
    ("bandwidth",): (("bandwidth",), kbit),
    ("shutdown",): (("state",), down),
    ("ospf", "cost"): (("cost",), number(1, 65535)),
    ("ospf", "passive"): (("ospf",), passive),
    ("ospf",): (("ospf",), spoken),
    ("isis", "passive"): (("isis",), passive),
    ("isis", "metric"): (("cost",), number(1, 65535)),
    ("isis", "cost"): (("cost",), number(1, 65535)),
    ("isis",): (("isis",), spoken),
}
"""Fields of a link -> those of a link. Areas and settings of OSPF are read apart."""
END: Mapping[Path, Row] = {
    ("ospf", "cost"): (("cost",), number(1, 65535)),
    ("isis", "metric"): (("cost",), number(1, 65535)),
    ("isis", "cost"): (("cost",), number(1, 65535)),
    ("ospf", "passive"): (("ospf",), passive),
    ("ospf",): (("ospf",), spoken),
    ("isis", "passive"): (("isis",), passive),
    ("isis",): (("isis",), spoken),
}
"""Fields of an end of a link -> those of a link, by node."""
APART = frozenset(
    {
        *(("device",), ("module",), ("id",), ("role",), ("name",), ("mtu",), ("provider",)),
        *(("type",), ("ifname",), ("prefix",), ("prefix", "ipv4"), ("prefix", "ipv6")),
        *(("ipv4",), ("ipv6",), ("ospf", "area"), ("loopback",), ("routing", "static")),
        *(("pool",), ("bgp", "as"), ("linkindex",), ("bridge",), ("loopback", "ipv4")),
        *(("loopback", "ipv6"), ("loopback", "pool"), ("loopback", "ospf", "cost")),
        *(("prefix", "allocation"), ("unnumbered",), ("shutdown",)),
        *(("ra", "disable"), ("ra", "slaac")),
        # BGP announces all networks of a router.
        *(("bgp", "advertise"), ("loopback", "bgp", "advertise")),
        *ospf.OF_INTERFACES,
        *ospf.APART,
    }
)
"""Fields that are not of one row: the reader of nodes and links takes them, or needs none."""
BELOW = (("ospf", "import"), ("ospf", "default"), ("routing", "policy"), ("routing", "prefix"))
"""Fields of a node that are read apart with all that is below them."""
MODULES = frozenset({"ospf", "bgp", "isis", "routing", "bfd"})
"""Modules that a lab file has words for."""
WHY: Mapping[str, str] = {
    "validate": "`delaylab converge`, `ping` and `exec` answer such questions",
    "plugin": "a plugin is a program of netlab's",
    "vrf": "a lab has no VRF in its words; `added:` and `start:` of a node have",
    "vrfs": "a lab has no VRF in its words; `added:` and `start:` of a node have",
    "vlan": "a lab has no VLAN in its words; `start:` of a node has",
    "vlans": "a lab has no VLAN in its words; `start:` of a node has",
    "daemon": "the router's daemon does not have it, or not in OSPF version 3",
    "unnumbered": "the link's addresses are delaylab's",
    "sources": "only `topology-defaults.yml` and extra files beside the topology are read",
    "ospf": "`added:` of `routing` takes lines of FRR or BIRD",
    "bgp": "`added:` of `routing` takes lines of FRR or BIRD",
    "isis": "`added:` of `routing` takes lines of FRR or BIRD",
    "config": "`added:` of `routing` takes lines of FRR or BIRD",
}
"""Reasons why a part is not carried over, where there is more to say than that."""
NOTHING = "no lab file can have it"


def carry(
    part: Part,
    row: Row,
    value: Tree,
    *,
    losses: Losses,
    at: Location,
    what: str,
    node: str = "",
) -> None:
    """Put a value into a part, by its row; name it if no lab file can have it."""
    path, reader = row
    found = reader(value)
    if found is None:
        losses.lose(at, f"`{what}: {str(value)[:40]}`", NOTHING, node)
    else:
        part.put(path, found)


def lose(losses: Losses, at: Location, key: Path, node: str = "") -> None:
    """Name a field without a counterpart, with the reason if there is one."""
    losses.lose(at, f"`{'.'.join(key[:3])}`", WHY.get(key[0], ""), node)
