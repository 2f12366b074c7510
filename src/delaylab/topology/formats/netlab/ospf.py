"""Netlab's settings of OSPF as those of `routing: ospf`: of interfaces, of areas, of a router."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from ipaddress import IPv4Address

from delaylab.io.values import Json
from delaylab.topology.formats.containerlab.tree import Tree, fields, items, text
from delaylab.topology.formats.netlab.pools import network_of
from delaylab.topology.formats.netlab.readers import (
    Put,
    Reader,
    area_of,
    number,
    seconds,
    words_of_secret,
)
from delaylab.topology.formats.netlab.shape import Leaves, Path, below, is_off, is_on, words

NETWORKS = ("point-to-point", "broadcast", "non-broadcast", "point-to-multipoint")
TIMES = {"hello": ("ospf", "timers", "hello"), "dead": ("ospf", "timers", "dead")}
OF_INTERFACES: Mapping[Path, tuple[str, Reader]] = {
    ("ospf", "priority"): ("priority", number(0, 255)),
    ("ospf", "password"): ("password", words_of_secret(8)),
    ("ospf", "digest", "key"): ("digest", words_of_secret(16)),
    ("ospf", "network_type"): (
        "network",
        lambda tree: text(tree) if text(tree) in NETWORKS else None,
    ),
}
"""Fields of an end, or of its link -> those of `ospf.links`. Times are read apart."""
BFD = tuple(
    (protocol, "bfd", *version)
    for protocol in ("ospf", "isis", "bgp")
    for version in ((), ("ipv4",), ("ipv6",))
)
"""Fields of a node that have BFD watch the neighbours of a protocol."""
OF_NODES = frozenset({("ospf", "priority"), ("ospf", "password"), ("ospf", "digest", "key")})
"""Fields that an interface has from its node, if neither it nor its link says them."""
APART = frozenset({*TIMES.values(), *BFD, ("ospf", "digest", "id"), ("ospf", "areas")})
"""Further fields that the functions here take."""
SOURCES = ("bgp", "connected", "isis", "static")
"""The protocols of `ospf.import` that a lab file has words for."""
SPECIAL_AREAS = ("stub", "nssa")
"""The kinds of areas that a lab file has, next to the ordinary ones."""


def interface_settings(
    end: Leaves, link: Leaves, node: Leaves, form: str
) -> tuple[Json, list[Path]]:
    """Return the settings of OSPF at an end of a link, and the fields that no lab file can have.

    `form` is the type of network that the link has by itself.
    """
    of_node = {key: each for key, each in node.items() if key in OF_NODES}
    said = {**of_node, **link, **end}
    found: dict[str, Json] = dict(_times({**link, **end}))
    lost = []
    for key, (name, reader) in OF_INTERFACES.items():
        if key not in said:
            continue
        value = reader(said[key])
        if value is None:
            lost.append(key)
        elif name == "digest":
            found[name] = {text(said.get(("ospf", "digest", "id"))) or "1": value}
        elif (name, value) != ("network", form):
            found[name] = value
    if is_off(said.get(("ospf", "bfd"))):
        found["bfd"] = False
    return found, lost


def _times(said: Leaves) -> Iterator[tuple[str, Json]]:
    """Yield the times of an interface: of one that is left out netlab takes a fourth, or four."""
    given = {name: text(said.get(path)) for name, path in TIMES.items()}
    known = {name: int(each) for name, each in given.items() if seconds(each) is not None}
    if "hello" in known:
        known.setdefault("dead", 4 * known["hello"])
    if "dead" in known:
        known.setdefault("hello", max(round(known["dead"] / 4), 1))
    yield from ((name, f"{known[name]}s") for name in TIMES if name in known)


def router_settings(said: Leaves) -> Iterator[Put | Path]:
    """Yield the settings of a router, and the fields that no lab file can have."""
    given = below(said, "ospf", "default")
    alone = given.pop((), None)
    if given or is_on(alone):
        yield from _default(given)
    listed = said.get(("ospf", "import"))
    imports: dict[str, Leaves] = {source: {} for source in words(listed)}
    for key, tree in below(said, "ospf", "import").items():
        if key:
            own = imports.setdefault(key[0], {})
            own |= {key[1:]: tree} if key[1:] else {}
    found: dict[str, Json] = {}
    for source, own in imports.items():
        policy = text(own.pop(("policy",), None))
        if source in SOURCES:
            found[source] = {"route_map": policy} if policy else {}
        else:
            yield ("ospf", "import", source)
        yield from (("ospf", "import", source, *key) for key in own)
    if found:
        plain = not any(found.values())
        yield ("imports",), [*found] if plain else found
    cost = said.get(("loopback", "ospf", "cost"))
    # Netlab leaves the cost of a loopback to the device; that of FRR and BIRD is 0.
    yield from (((name,), value) for name, value in _times(said))
    yield ("loopback_cost",), 0 if cost is None else number(0, 65535)(cost)


def _default(said: Leaves) -> Iterator[Put | Path]:
    found: dict[str, Json] = {}
    for key, tree in said.items():
        given = text(tree)
        if key == ("always",):
            found |= {"always": True} if is_on(tree) else {}
        elif key == ("cost",) and number(0, 16_777_214)(tree) is not None:
            found["metric"] = int(given)
        elif key == ("type",) and given in ("e1", "e2"):
            found["type"] = int(given[1])
        elif key == ("policy",):
            found["route_map"] = given
        else:
            yield ("ospf", "default", *key)
    yield ("default",), found


def areas_of(tree: Tree, here: Collection[str]) -> tuple[dict[str, Json], list[str]]:
    """Return the settings of the areas that a router is in, and the fields that are lost."""
    found: dict[str, Json] = {}
    lost: list[str] = []
    for entry in items(tree):
        said = fields(entry)
        area = area_of(said.get("area"))
        if not isinstance(area, str) or same_area(area) not in {same_area(each) for each in here}:
            continue
        own, more = _area(said)
        found[area] = own
        lost += more
    return found, lost


def areas_here(of_ospf: Mapping[str, Json]) -> list[str]:
    """Return the areas that a router's `routing: ospf` names."""
    of_links = of_ospf.get("areas")
    found = [of_ospf.get("area"), *(of_links.values() if isinstance(of_links, Mapping) else ())]
    return [each for each in found if isinstance(each, str)]


def policies(routing: Mapping[str, Json]) -> list[str]:
    """Return the route maps that a router's OSPF names."""
    of_ospf = routing.get("ospf")
    said = of_ospf if isinstance(of_ospf, Mapping) else {}
    imports = said.get("imports")
    given = [said.get("default"), *(imports.values() if isinstance(imports, Mapping) else ())]
    found = [each.get("route_map") for each in given if isinstance(each, Mapping)]
    return list(dict.fromkeys(each for each in found if isinstance(each, str)))


def without_policy(routing: Mapping[str, Json], policy: str) -> Json:
    """Return a router's `ospf` without a route map."""
    return _without(routing.get("ospf"), policy)


def _without(said: Json, policy: str) -> Json:
    if not isinstance(said, Mapping):
        return said
    return {key: _without(each, policy) for key, each in said.items() if each != policy}


def bfd_times(said: Leaves) -> Json:
    """Return the times of BFD; netlab's are 500 ms, and three packets."""
    times = [number(10, 60_000)(said.get((name,))) for name in ("min_tx", "min_rx")]
    given = next((each for each in times if each is not None), 500)
    most = number(2, 255)(said.get(("multiplier",)))
    return {"interval": f"{given}ms", **({} if most is None else {"multiplier": most})}


def without_impossible(
    routing: Mapping[str, Json], ip: Collection[int]
) -> tuple[dict[str, Json], list[str]]:
    """Return a router's `ospf` without what its daemon has no words for, and what that is.

    FRR 8.4 and BIRD lack some settings in OSPF version 3, and BIRD lacks more.
    """
    given = routing.get("ospf")
    said: dict[str, Json] = dict(given) if isinstance(given, Mapping) else {}
    by_bird, lost = routing.get("by") == "bird", []
    of_links = said.get("links")
    links: dict[str, Json] = dict(of_links) if isinstance(of_links, Mapping) else {}
    for link, own in links.items():
        settings = dict(own) if isinstance(own, Mapping) else {}
        if 6 in ip and settings.pop("password", None) is not None:
            lost.append("password")
        many = settings.get("network") == "point-to-multipoint"
        if 6 in ip and not by_bird and many and settings.pop("network"):
            lost.append("network_type: point-to-multipoint")
        links[link] = settings
    of_areas = said.get("area_settings")
    areas: dict[str, Json] = dict(of_areas) if isinstance(of_areas, Mapping) else {}
    for area, own in areas.items():
        settings = dict(own) if isinstance(own, Mapping) else {}
        no_cost = 4 not in ip and not by_bird and settings.get("kind") == "stub"
        if no_cost and settings.pop("default_cost", None) is not None:
            lost.append("areas: default.cost")
        given_ranges = settings.get("external_ranges")
        external = given_ranges if isinstance(given_ranges, list) and not by_bird else []
        if any(_is_of_4(each) for each in external):
            del settings["external_ranges"]
            lost.append("areas: external_range, external_filter")
        areas[area] = settings
    if by_bird and said.pop("default", None) is not None:
        lost.append("default")
    for name, settings_of in (("links", links), ("area_settings", areas)):
        said.pop(name, None)
        if kept := {key: settings for key, settings in settings_of.items() if settings}:
            said[name] = kept
    return said, list(dict.fromkeys(lost))


def _is_of_4(said: Json) -> bool:
    """Return True for a range of IPv4."""
    return isinstance(said, Mapping) and ":" not in str(said.get("prefix"))


def same_area(area: str) -> str:
    """Return an area in one form; it may be written as a number or as an address."""
    return str(IPv4Address(int(area) if area.isdecimal() else area))


def _area(said: Mapping[str, Tree]) -> tuple[dict[str, Json], list[str]]:
    found: dict[str, Json] = {}
    ranges: list[Json] = []
    external: list[Json] = []
    lost = []
    is_special = text(said.get("kind")) in SPECIAL_AREAS
    for key, tree in said.items():
        if key == "kind":
            found |= {"kind": text(tree)} if text(tree) in SPECIAL_AREAS else {}
        elif key == "inter_area":
            found |= {"summaries": False} if is_special and is_off(tree) else {}
        elif key in ("default.cost", "default") and is_special:
            cost = number(0, 16_777_214)(fields(tree).get("cost") if key == "default" else tree)
            found |= {"default_cost": cost} if cost is not None else {}
        elif key in ("range", "filter"):
            ranges += _ranges(tree, announced=key == "range")
        elif key in ("external_range", "external_filter") and said.get("kind") == "nssa":
            external += _ranges(tree, announced=key == "external_range")
        elif key != "area":
            lost.append(key)
    found |= {"ranges": ranges} if ranges else {}
    return {**found, **({"external_ranges": external} if external else {})}, lost


def _ranges(tree: Tree, *, announced: bool) -> Iterator[dict[str, Json]]:
    for each in items(tree):
        said = fields(each)
        cost = number(1, 65535)(said.get("cost"))
        for written in (each, said.get("ipv4"), said.get("ipv6")):
            if (prefix := network_of(written)) is not None:
                found: dict[str, Json] = {"prefix": str(prefix)}
                if announced and cost is not None:
                    found["cost"] = cost
                yield found if announced else {**found, "announced": False}
