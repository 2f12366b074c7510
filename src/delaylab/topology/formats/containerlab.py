"""Reader of containerlab's topologies: nodes with their images, links; the rest is listed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from delaylab.spec import source as yaml_source
from delaylab.spec.source import Document, Location
from delaylab.topology.builder import Builder
from delaylab.topology.edges import Edge
from delaylab.topology.formats.shares import is_yaml
from delaylab.topology.model import Map
from delaylab.topology.options import Options
from delaylab.topology.remarks import Remarks
from delaylab.topology.source import Source, lines_that_count
from delaylab.units import Size

NAME = "containerlab"
TOP = re.compile(r"^topology\s*:", re.M)
NO_NODES = ("bridge", "ovs-bridge", "host", "ext-container")
"""Kinds that are something of the machine, not nodes."""
OUTSIDE = ("host", "mgmt-net", "macvlan", "vxlan", "vxlan-stitch", "dummy")
"""Names of endpoints that are no nodes."""
QUIET = ("kind", "image", "group", "labels", "position", "graph-posX", "graph-posY")
"""Fields of a node that are carried over, or mean nothing to a network."""
MEMORY = re.compile(r"(?P<number>[0-9]+)\s*(?P<unit>[kmg]?)i?b?", re.I)
Given = Mapping[str, Any]


@dataclass
class _Read:
    document: Document
    remarks: Remarks

    def line(self, at: Location) -> int:
        return self.document.lines.get(at, 0)

    def lost(self, at: Location, what: str) -> None:
        self.remarks.lost(self.line(at), f"{what}: not carried over")


def fits(text: str) -> bool:
    """Return True for a file of YAML with `topology:`."""
    head = text[:200_000]
    return TOP.search(head) is not None and is_yaml(lines_that_count(head))


def read(source: Source, _: Options) -> Map:
    """Read nodes and links; name every line that cannot be carried over."""
    document = yaml_source.parse(source.text, source.name)
    data = document.data
    if not isinstance(data, dict) or not isinstance(data.get("topology"), dict):
        raise document.refuse("expected `topology:` with nodes and links")
    name = data.get("name")
    build = Builder(str(name) if isinstance(name, str) else source.lab, NAME, source.name)
    state = _Read(document, build.remarks)
    for field in data:
        if field not in ("name", "topology", "prefix"):
            state.lost((field,), f"`{field}`")
    topology: dict[str, Any] = data["topology"]
    for field in topology:
        if field not in ("nodes", "links", "kinds", "defaults"):
            state.lost(("topology", field), f"`{field}`")
    edges = _edges(topology.get("links"), state)
    ends = Counter(end for edge in edges for end in (edge.a, edge.b))
    nodes = topology.get("nodes")
    if not isinstance(nodes, dict) or not nodes:
        raise document.refuse("the topology has no nodes", ("topology",))
    for node, given in nodes.items():
        said = given if isinstance(given, dict) else {}
        _add_node(node, said, topology, ends[node], build, state)
    for edge in edges:
        build.edge(edge)
    build.remarks.say("interfaces get delaylab's names and addresses; all routers get its routes")
    return build.finish()


def _add_node(
    name: str, given: Given, topology: Given, links: int, build: Builder, state: _Read
) -> None:
    at: Location = ("topology", "nodes", name)
    kind = str(_said("kind", given, "", topology) or "linux")
    if kind in NO_NODES:
        state.lost(at, f"node {name!r} of kind {kind} is a part of the machine")
        return
    image = _said("image", given, kind, topology)
    fields: dict[str, object] = {}
    if isinstance(image, str) and image:
        fields |= {"kind": "docker", "image": image}
    else:
        state.remarks.lost(state.line(at), f"node {name!r} has no image: it becomes netns")
    for field, value in _all(given, kind, topology).items():
        carried = _carried(field, value) if "image" in fields or field == "env" else None
        if carried is not None:
            fields |= carried
        elif field not in QUIET:
            own = (*at, field)
            state.lost(own if field in given else at, f"`{field}` of node {name!r}")
    if kind != "linux":
        state.remarks.lost(
            state.line((*at, "kind") if "kind" in given else at),
            f"kind {kind}: the image runs as it is, without what containerlab does to start it",
        )
    build.node(name, line=state.line(at), label=name, forwards=links > 1, fields=fields)


def _all(given: Given, kind: str, topology: Given) -> dict[str, Any]:
    """Return the fields of a node: its own, those of its kind, and the defaults."""
    kinds = topology.get("kinds")
    of_kind = kinds.get(kind) if isinstance(kinds, dict) else None
    layers = (topology.get("defaults"), of_kind, given)
    return {
        key: value for layer in layers if isinstance(layer, dict) for key, value in layer.items()
    }


def _said(field: str, given: Given, kind: str, topology: Given) -> object:
    return _all(given, kind, topology).get(field)


def _carried(field: str, value: object) -> dict[str, object] | None:
    """Return the fields of a lab file that a field becomes; None if it becomes none."""
    if field == "env" and isinstance(value, dict):
        plain = {key: str(each) for key, each in value.items() if isinstance(each, str | int)}
        return {"env": plain} if len(plain) == len(value) else None
    if field == "cpu" and isinstance(value, int | float) and 0.01 <= value <= 10:
        return {"cpu_quota": f"{round(value * 100)}%"}
    if field == "memory" and isinstance(value, str | int):
        found = MEMORY.fullmatch(str(value))
        if found:
            power = " kmg".index(found["unit"].lower() or " ")
            return {"memory": str(Size(int(found["number"]) * 1024**power))}
    return None


def _edges(links: object, state: _Read) -> list[Edge]:
    found = []
    for index, link in enumerate(links if isinstance(links, list) else []):
        at: Location = ("topology", "links", index)
        ends = _ends(link)
        line = state.line(at)
        if ends is None:
            state.remarks.problem(line, "expected a link with two endpoints: left out")
        elif outside := [end for end in ends if end in OUTSIDE]:
            state.lost(at, f"a link to {outside[0]} leads out of the lab")
        else:
            found.append(Edge(*ends, line))
            for field in link:
                if field not in ("endpoints", "type"):
                    state.lost((*at, field), f"`{field}` of a link")
    return found


def _ends(link: object) -> tuple[str, str] | None:
    """Return the nodes of a link: `a:eth1`, or a mapping with `node`."""
    endpoints = link.get("endpoints") if isinstance(link, dict) else None
    if not isinstance(endpoints, list) or len(endpoints) != 2:
        return None
    nodes = [each.get("node") if isinstance(each, dict) else each for each in endpoints]
    if not all(isinstance(node, str) and node for node in nodes):
        return None
    a, b = (str(node).partition(":")[0] for node in nodes)
    return a, b
