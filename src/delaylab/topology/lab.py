"""A map as a lab: whole costs, delays, bandwidths; a document that the checks of labs read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from math import gcd, lcm
from pathlib import Path

from delaylab.spec.devices import end_of
from delaylab.spec.kinds import FACTS
from delaylab.spec.source import Document, Location
from delaylab.topology.model import Map, MapLink, MapNode, Position
from delaylab.topology.options import Costs, Options
from delaylab.topology.remarks import NO_CAPACITY, NO_DELAY, Remarks
from delaylab.units import Duration, Rate, Share

MOST_COST = 65_535
STEPS = (1, 2, 5)
MANY = 150
"""The number of routers from which on a plan makes routes to several networks one."""
Fields = dict[str, object]


@dataclass(frozen=True, kw_only=True)
class MapLab:
    """A lab of a map: what its file says, the comments at its lines, and what was assumed."""

    map: Map
    name: str
    whole: Fields
    """Fields of the lab as a whole."""
    nodes: dict[str, Fields]
    links: list[Fields]
    comments: dict[str, str]
    """The comment of a node, by its name."""
    assumptions: tuple[str, ...]

    @property
    def data(self) -> Fields:
        """Return the lab file's data."""
        return {"lab": self.name, **self.whole, "nodes": self.nodes, "links": self.links}

    def document(self) -> Document:
        """Return the lab as a document, whose lines are those of the source."""
        lines: dict[Location, int] = {
            ("nodes", node.name): node.line for node in self.map.nodes if node.line
        }
        lines |= {
            ("links", index): link.line for index, link in enumerate(self.map.links) if link.line
        }
        return Document(self.map.source, self.data, lines, Path())


def lab_of(map_: Map, name: str, options: Options) -> MapLab:
    """Return a map as a lab."""
    remarks = Remarks()
    _say_about_delays(map_, options, remarks)
    links = _delayed(map_, options)
    links = _named_by_kind(map_, links, options, remarks)
    map_ = replace(map_, links=links)
    costs = _costs(links, options, remarks)
    _say_about_capacities(map_, options, remarks)
    _say_about_components(map_, remarks)
    fields = [_link_fields(link, cost, options) for link, cost in zip(links, costs, strict=True)]
    return MapLab(
        map=map_,
        name=name,
        whole=_of_whole(map_, remarks),
        nodes={node.name: _node_fields(node, options) for node in map_.nodes},
        links=fields,
        comments={node.name: node.label for node in map_.nodes if node.label},
        assumptions=(*map_.assumptions, *remarks.lines()),
    )


def _named_by_kind(
    map_: Map, links: tuple[MapLink, ...], options: Options, remarks: Remarks
) -> tuple[MapLink, ...]:
    """Return links that name no interfaces of nodes which use those of their host."""
    kinds = {node.name: str(node.fields.get("kind", options.kind)) for node in map_.nodes}
    plain = {name for name, kind in kinds.items() if kind in FACTS and not FACTS[kind].own_stack}
    if not any(plain & link.devices.keys() for link in links):
        return links
    remarks.say(f"nodes of kind {options.kind} cannot name interfaces: delaylab does")
    return tuple(
        replace(link, devices={k: v for k, v in link.devices.items() if k not in plain})
        for link in links
    )


def _of_whole(map_: Map, remarks: Remarks) -> Fields:
    """Return what holds of a lab as a whole: how its many routers need few routes."""
    found: Fields = {**({"ip": [4, 6]} if _has_ipv6(map_) else {}), **map_.whole}
    placed = sum(node.forwards and node.at is not None and node.at.on_earth for node in map_.nodes)
    if placed < MANY:
        return found
    remarks.say("addresses follow the places of nodes, so that routers need fewer routes")
    return {**found, "addresses": "places"}


def _has_ipv6(map_: Map) -> bool:
    texts = (text for link in map_.links for given in link.addresses.values() for text in given)
    return any(":" in text for text in texts)


def _node_fields(node: MapNode, options: Options) -> Fields:
    fields: Fields = {}
    if options.kind != "netns" and "kind" not in node.fields:
        fields["kind"] = options.kind
    fields |= node.fields
    if node.forwards:
        fields["forwards"] = True
    if node.at is not None:
        fields["at"] = _place(node.at)
    return fields


def _place(at: Position) -> Fields:
    names = ("longitude", "latitude") if at.on_earth else ("x", "y")
    return dict(zip(names, (_short(at.x), _short(at.y)), strict=True))


def _short(value: float) -> int | float:
    rounded = round(value, 5)
    return int(rounded) if rounded.is_integer() else rounded


def _link_fields(link: MapLink, cost: int | None, options: Options) -> Fields:
    ends = [end_of(node, link.devices.get(node, "")) for node in link.ends]
    fields: Fields = {"join" if link.members else "between": ends, "name": link.name}
    if link.mtu is not None:
        fields["mtu"] = link.mtu
    fields |= link.fields
    fields |= _conditions(link.delay or None, link.jitter or None, link.loss or None)
    if link.capacity:
        fields["bandwidth"] = str(Rate(link.capacity))
        if options.rate:
            fields["rate"] = str(Rate(link.capacity))
    if cost is not None and cost != 1:
        # The source may have given each end a cost of its own.
        fields.setdefault("cost", cost)
    if link.addresses:
        fields["addresses"] = {
            node: given[0] if len(given) == 1 else [*given]
            for node, given in link.addresses.items()
        }
    back = _conditions(link.delay_back, link.jitter_back, link.loss_back)
    if back:
        fields["from"] = {link.b: back}
    return fields


def _conditions(delay: int | None, jitter: int | None, loss: int | None) -> Fields:
    fields: Fields = {}
    if delay is not None:
        fields["delay"] = str(Duration(delay))
    if jitter is not None:
        fields["jitter"] = str(Duration(jitter))
    if loss is not None:
        fields["loss"] = str(Share(loss))
    return fields


def _say_about_delays(map_: Map, options: Options, remarks: Remarks) -> None:
    missing = [link.line for link in map_.links if link.delay is None]
    if missing and len(missing) == len(map_.links):
        fix = "they get {} one way" if options.delay else "--delay gives one to all"
        remarks.say(f"the source has no delays: {fix.format(options.delay)}")
    elif missing:
        for line in missing:
            remarks.count(NO_DELAY, line)
        if options.delay:
            remarks.say(f"links without a delay get {options.delay} one way")


def _delayed(map_: Map, options: Options) -> tuple[MapLink, ...]:
    """Return the links, with the user's delay for those that have none."""
    if options.delay is None:
        return map_.links
    given = int(options.delay)
    return tuple(replace(link, delay=given) if link.delay is None else link for link in map_.links)


def _costs(links: Sequence[MapLink], options: Options, remarks: Remarks) -> list[int | None]:
    has_costs = any(link.cost is not None for link in links)
    has_delays = bool(links) and all(link.delay is not None for link in links)
    chosen = options.cost or (
        Costs.SOURCE if has_costs else Costs.DELAY if has_delays else Costs.HOPS
    )
    if chosen == Costs.DELAY:
        return _of_delays(links, remarks)
    if chosen == Costs.HOPS or not has_costs:
        if links and options.cost is None:
            remarks.say("there are no weights: every link costs 1 (--cost)")
        return [None for _ in links]
    return _of_weights(links, remarks)


def _of_delays(links: Sequence[MapLink], remarks: Remarks) -> list[int | None]:
    """Return costs that are proportional to delays: exactly, or in the finest unit that fits."""
    delays = [link.delay or 0 for link in links]
    longest, unit = max(delays), gcd(*delays) or 1
    if longest > MOST_COST * unit:
        steps = (step * 10**power for power in range(20) for step in STEPS)
        unit = next(step for step in steps if longest <= MOST_COST * step)
    said = f"costs follow delays, 1 for {Duration(unit)}: routes are those of the least delay"
    remarks.say(f"{said} (--cost)")
    return [max(1, round((link.delay or 0) / unit)) for link in links]


def _of_weights(links: Sequence[MapLink], remarks: Remarks) -> list[int | None]:
    """Return the source's weights as whole numbers: all times the same factor, if need be."""
    known = [link.cost for link in links if link.cost is not None]
    missing = len(links) - len(known)
    if missing:
        remarks.say(f"{missing} of {len(links)} links have no weight: they cost as much as 1")
    factor = Fraction(lcm(*(cost.denominator for cost in known)))
    largest = max(known)
    if largest * factor > MOST_COST:
        factor = Fraction(MOST_COST) / largest
        remarks.say(
            f"weights are up to {float(largest):g}: all are scaled by {float(factor):.6g} and "
            f"rounded, so that they fit 1 to {MOST_COST}"
        )
    elif factor > 1:
        remarks.say(f"weights are fractions: costs are {int(factor)} times the weights")
    costs = [round((Fraction(1) if link.cost is None else link.cost) * factor) for link in links]
    if any(cost < 1 for cost in costs):
        remarks.say("weights below 1 after that cost 1, the least cost")
    return [min(MOST_COST, max(1, cost)) for cost in costs]


def _say_about_capacities(map_: Map, options: Options, remarks: Remarks) -> None:
    known = sum(link.capacity is not None for link in map_.links)
    if known and not options.rate:
        remarks.say("capacities are `bandwidth:`, which is not enforced (--rate enforces them)")
    if 0 < known < len(map_.links):
        for link in map_.links:
            if link.capacity is None:
                remarks.count(NO_CAPACITY, link.line)


def _say_about_components(map_: Map, remarks: Remarks) -> None:
    parts = components(map_)
    if len(parts) > 1:
        alone = sum(len(part) == 1 for part in parts)
        largest = max(map(len, parts))
        single = f", {alone} of them a single node" if alone else ""
        remarks.say(
            f"the network has {len(parts)} parts that no link joins{single}; the largest has "
            f"{largest} nodes"
        )


def components(map_: Map) -> list[list[str]]:
    """Return the parts of a map that no link joins, each as its nodes."""
    near: dict[str, list[str]] = {node.name: [] for node in map_.nodes}
    for link in map_.links:
        for one, other in pairwise(link.ends):
            near[one].append(other)
            near[other].append(one)
    left, found = dict.fromkeys(near), []
    while left:
        part = [left.popitem()[0]]
        for node in part:
            for other in near[node]:
                if other in left:
                    del left[other]
                    part.append(other)
        found.append(part)
    return found
