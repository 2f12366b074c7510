"""Collections of maps that packages have: `topohub:GROUP/NAME`."""

from __future__ import annotations

import re
from typing import Any

from pydantic import BaseModel, ValidationError

from delaylab.errors import BadInput, NotHere
from delaylab.topology.builder import Builder
from delaylab.topology.edges import Edge
from delaylab.topology.model import Map, Position
from delaylab.topology.options import Coordinates, Options

PREFIX = "topohub:"
KEY = re.compile(r"[A-Za-z0-9_-]+(?:/[A-Za-z0-9_.-]*[A-Za-z0-9_-])+")
"""Names of a collection's maps, which are paths below its folder and lead nowhere else."""
LONGITUDES, LATITUDES = 180, 90


class _Node(BaseModel):
    id: int | str
    name: str | None = None
    type: str | None = None
    pos: tuple[float, float] | None = None


class _Edge(BaseModel):
    source: int | str
    target: int | str
    dist: float | None = None
    """The distance in km."""


class _Graph(BaseModel):
    nodes: list[_Node]
    edges: list[_Edge]
    graph: dict[str, Any] = {}


def is_named(source: str) -> bool:
    """Return True for a map of a collection."""
    return source.startswith(PREFIX)


def read_named(source: str, options: Options) -> Map:
    """Read a map of a collection; raise NotHere where the collection's package is missing."""
    key = source.removeprefix(PREFIX)
    if not KEY.fullmatch(key):
        raise BadInput(f"{key[:80]!r} names no map", source[:80], "such as topohub:backbone/europe")
    found = _graph(key, source)
    build = Builder(key.rpartition("/")[2], "topohub", source)
    build.remarks.say(f"distances are the collection's, in km, at {options.km_delay} a km one way")
    on_earth = options.coordinates != Coordinates.PLANE and all(map(_in_degrees, found.nodes))
    if not on_earth and options.coordinates is None:
        build.remarks.say("positions are not degrees: taken for those on a plane")
    for node in found.nodes:
        at = None if node.pos is None else Position(*node.pos, on_earth)
        label = ", ".join(filter(None, (node.name, node.type)))
        build.node(str(node.id), wanted=node.name or "", label=label, at=at)
    for edge in found.edges:
        delay = None if edge.dist is None else round(edge.dist * options.km_delay.ns)
        build.edge(Edge(a=str(edge.source), b=str(edge.target), delay=delay))
    demands = found.graph.get("demands")
    if demands:
        build.remarks.say("the collection's traffic demands have no place in a lab file: left out")
    return build.finish()


def _in_degrees(node: _Node) -> bool:
    return node.pos is None or (abs(node.pos[0]) <= LONGITUDES and abs(node.pos[1]) <= LATITUDES)


def _graph(key: str, source: str) -> _Graph:
    try:
        import topohub  # noqa: PLC0415  an optional package, needed here alone
    except ImportError:
        fix = "pip install 'delaylab[topologies]'"
        raise NotHere("the package topohub is not installed", source, fix) from None
    try:
        return _Graph.model_validate(topohub.get(key))
    except KeyError:
        fix = "groups are backbone, caida, gabriel, sndlib and topozoo; names as on topohub's site"
        raise BadInput("topohub has no such map", source, fix) from None
    except (ValidationError, ValueError):
        raise BadInput("this version of topohub has the map in an unknown form", source) from None
