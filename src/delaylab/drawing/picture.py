"""A lab as a picture: nodes at places, links as lines between them, hosts as boxes.

Places are in lengths of a link. They are those of the lab file (`at:`) if it has one for each node;
else the lines' lengths say them (`stress.py`), each host's nodes apart from those of others.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from delaylab.drawing.layout import NO_DEVICES, DrawnLink, Graph
from delaylab.extras import needed
from delaylab.resolve.lab import Lab

Place = tuple[float, float]

BORDER, BETWEEN = 0.45, 0.35
"""The space between a host's nodes and its box, and between boxes."""
ASIDE = 0.3
"""The least space between nodes and the point where the lines of a link of many meet."""
HUB = "link "
"""The beginning of the name of the point where the lines of a link of many meet."""
EARTH_WIDTH = 1.3
"""The width of a map, in lengths of a link by the root of the number of nodes."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A node at its place, or the point where the lines of a link of many meet (`hub`).

    `state` is that of the node in a running lab, "" if none is looked at.
    """

    name: str
    about: str
    x: float
    y: float
    hub: bool = False
    state: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnLine:
    """A line of a link between two spots, by their numbers; parallel ones bend to their sides.

    `conditions` are those of the link in words, `named` is its name where that is to stand, and
    `devices` are the names of the interfaces at both ends that are not the link's.
    """

    link: str
    ends: tuple[int, int]
    bend: float
    conditions: str
    named: str
    devices: tuple[str, str]
    title: str
    state: str = ""


@dataclass(frozen=True, slots=True)
class Box:
    """A host: its corners."""

    host: str
    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True)
class States:
    """States of a running lab: of nodes, and of links that are not up."""

    nodes: Mapping[str, str] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Picture:
    """A lab with places. `places` are those to keep for the next time, by name."""

    lab: str
    spots: list[Spot]
    lines: list[DrawnLine]
    boxes: list[Box]
    places: dict[str, Place]


def picture(
    lab: Lab,
    graph: Graph,
    kept: Mapping[str, Place],
    devices: Mapping[tuple[str, str], str] = NO_DEVICES,
    states: States | None = None,
) -> Picture:
    """Return the picture of a lab; nodes that have kept places stay there."""
    now = states or States()
    about = {node.name: node.about for nodes in graph.hosts.values() for node in nodes}
    host_of = {node.name: host for host, nodes in graph.hosts.items() for node in nodes}
    members = {name: list(link.members) for name, link in lab.links.items()}
    hubs = {name: HUB + name for name, ends in members.items() if len(ends) != 2}
    edges = [
        (end, hubs[name]) if name in hubs else (end, ends[1 - at])
        for name, ends in members.items()
        for at, end in enumerate(ends)
    ]
    for name, hub in hubs.items():
        hosts = {host_of[end] for end in members[name]}
        host_of[hub] = hosts.pop() if len(hosts) == 1 else ""
    own = _of_file(lab)
    if own is None:
        places, boxes = _by_hosts(list(graph.hosts), host_of, edges, kept)
        to_keep = dict(places)
        shown = _moved(places, boxes, host_of)
    else:
        shown, to_keep = own, {}
        boxes = _around(own, host_of) if len(graph.hosts) > 1 else {}
    for name, hub in hubs.items():
        if hub not in shown:
            shown[hub] = _meeting([shown[end] for end in members[name]], shown.values())
    names = [*about, *hubs.values()]
    number = {name: i for i, name in enumerate(names)}
    spots = [
        Spot(name, about.get(name, ""), *shown[name], name not in about, now.nodes.get(name, ""))
        for name in names
    ]
    lines = list(_lines(graph.links, members, hubs, number, devices, now))
    corners = [Box(host, *box) for host, box in boxes.items()]
    return Picture(graph.lab, spots, lines, corners, to_keep)


def _of_file(lab: Lab) -> dict[str, Place] | None:
    """Return the places that a lab file has; None if it lacks some, or mixes earth and plane."""
    found: dict[str, Place] = {}
    earthly = set()
    for name, node in lab.nodes.items():
        if node.at is None:
            return None
        if node.at.longitude is not None and node.at.latitude is not None:
            found[name] = (node.at.longitude, -node.at.latitude)
            earthly.add(True)
        elif node.at.x is not None and node.at.y is not None:
            found[name] = (node.at.x, node.at.y)
            earthly.add(False)
    if len(earthly) != 1:
        return None
    xs, ys = [x for x, _ in found.values()], [y for _, y in found.values()]
    # A degree of longitude is shorter away from the equator.
    narrow = math.cos(math.radians((min(ys) + max(ys)) / 2)) if earthly == {True} else 1.0
    extent = max((max(xs) - min(xs)) * narrow, max(ys) - min(ys)) or 1.0
    unit = EARTH_WIDTH * math.sqrt(len(found)) / extent
    return {
        name: ((x - min(xs)) * narrow * unit, (y - min(ys)) * unit)
        for name, (x, y) in found.items()
    }


Corners = tuple[float, float, float, float]


def _by_hosts(
    hosts: Sequence[str],
    host_of: Mapping[str, str],
    edges: Sequence[tuple[str, str]],
    kept: Mapping[str, Place],
) -> tuple[dict[str, Place], dict[str, Corners]]:
    """Return the places of each host's nodes by themselves, and the hosts' boxes side by side."""
    with needed("a picture of a lab whose nodes have no place (`at`)"):
        from delaylab.drawing import stress  # noqa: PLC0415  loads numpy and scipy

    names: dict[str, list[str]] = {host: [] for host in hosts}
    for name, host in host_of.items():
        if host:
            names[host].append(name)
    of_host = defaultdict[str, list[tuple[str, str]]](list)
    for one, other in edges:
        if host_of[one] == host_of[other]:
            of_host[host_of[one]].append((one, other))
    found: dict[str, Place] = {}
    sizes = {}
    for host, here in names.items():
        number = {name: i for i, name in enumerate(here)}
        known = {number[name]: kept[name] for name in here if name in kept}
        joined = [(number[one], number[other]) for one, other in of_host[host]]
        at = stress.places(len(here), joined, known)
        found |= {name: (float(at[i, 0]), float(at[i, 1])) for name, i in number.items()}
        sizes[host] = tuple(at.max(axis=0) - at.min(axis=0) + 2 * BORDER)
    return found, _side_by_side(sizes)


def _side_by_side(sizes: Mapping[str, tuple[float, ...]]) -> dict[str, Corners]:
    """Return boxes of these sizes, in rows that are about as wide as all are high."""
    most = 2.4 * math.sqrt(sum(wide * high for wide, high in sizes.values()))
    x = y = height = 0.0
    boxes = {}
    for host, (wide, high) in sizes.items():
        if x and x + wide > most:
            x, y, height = 0.0, y + height + BETWEEN, 0.0
        boxes[host] = (x, y, x + wide, y + high)
        x, height = x + wide + BETWEEN, max(height, high)
    return boxes


def _moved(
    places: Mapping[str, Place], boxes: Mapping[str, Corners], host_of: Mapping[str, str]
) -> dict[str, Place]:
    """Return the places of each host's nodes inside its box."""
    moved = {}
    for host, (left, top, _, _) in boxes.items():
        here = {name: place for name, place in places.items() if host_of[name] == host}
        west, north = (min(place[axis] for place in here.values()) for axis in (0, 1))
        for name, (x, y) in here.items():
            moved[name] = (x - west + left + BORDER, y - north + top + BORDER)
    return moved


def _around(places: Mapping[str, Place], host_of: Mapping[str, str]) -> dict[str, Corners]:
    """Return a box around each host's nodes, wherever they are."""
    boxes = {}
    for host in dict.fromkeys(host_of[name] for name in places):
        xs, ys = zip(*(places[name] for name in places if host_of[name] == host), strict=True)
        edge = BORDER / 2
        boxes[host] = (min(xs) - edge, min(ys) - edge, max(xs) + edge, max(ys) + edge)
    return boxes


def _meeting(ends: Sequence[Place], taken: Collection[Place]) -> Place:
    """Return the middle of a link's ends, or the next place below where nothing stands."""
    x = sum(x for x, _ in ends) / len(ends)
    y = sum(y for _, y in ends) / len(ends)
    while any(math.dist((x, y), place) < ASIDE for place in taken):
        y += ASIDE
    return x, y


def _lines(
    links: Sequence[DrawnLink],
    members: Mapping[str, list[str]],
    hubs: Mapping[str, str],
    number: Mapping[str, int],
    devices: Mapping[tuple[str, str], str],
    states: States,
) -> Iterator[DrawnLine]:
    """Yield the lines of links; of several between two nodes, each bends its own way."""
    pairs = Counter(frozenset(members[link.name]) for link in links if link.name not in hubs)
    drawn = Counter[frozenset[str]]()
    for link in links:
        ends, words = members[link.name], _short(link.conditions)
        title = "; ".join([link.legend, *link.conditions])
        state = states.links.get(link.name, "")
        if link.name in hubs:
            for end in ends:
                joined = number[end], number[hubs[link.name]]
                first = end == ends[0]
                at_end = _unlike(devices.get((end, link.name), ""), link.name), ""
                yield DrawnLine(
                    link=link.name,
                    ends=joined,
                    bend=0.0,
                    conditions=words if first else "",
                    named=link.name if first else "",
                    devices=at_end,
                    title=title,
                    state=state,
                )
            continue
        pair = frozenset(ends)
        aside = drawn[pair] - (pairs[pair] - 1) / 2
        drawn[pair] += 1
        one, other = sorted(number[end] for end in ends)
        of = {number[end]: _unlike(devices.get((end, link.name), ""), link.name) for end in ends}
        at_ends = of[one], of[other]
        yield DrawnLine(
            link=link.name,
            ends=(one, other),
            bend=aside,
            conditions=words,
            named=link.name,
            devices=at_ends,
            title=title,
            state=state,
        )


def _unlike(device: str, link: str) -> str:
    """Return an interface's name; "" if it is the link's, as it usually is."""
    return "" if device == link else device


def _short(conditions: Sequence[str]) -> str:
    """Return a link's conditions as they stand at its line."""
    return " | ".join(each.removeprefix("each direction: ") for each in conditions)
