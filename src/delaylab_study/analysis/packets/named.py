"""Segments of one trial's packets, with the layers as they were in that trial."""

from __future__ import annotations

from dataclasses import replace
from math import ceil, floor

from delaylab.api.kinds import facts_of
from delaylab.api.names import AgentName
from delaylab.api.points import (
    FAR,
    LEGS,
    NEAR,
    RESPONDER,
    SENDER,
    TUNNEL,
    WIRE,
    bare,
    role,
    router_number,
    router_side,
)
from delaylab.api.records import LOCAL_NAME
from delaylab_study.analysis.packets import layers, segments
from delaylab_study.analysis.packets.segments import Segment
from delaylab_study.analysis.packets.table import Packets
from delaylab_study.dataset.records.trial import OUTSIDE, TrialRecord
from delaylab_study.dataset.records.ways import Way

ONLY = ""
"""The link of a way whose record names none."""
OFF = {NEAR: 0.5, FAR: 0.5, "vif": 0.5, "uplink": 0.625, WIRE: 0.75, TUNNEL: 0.875}
"""Distance of a point from its node, where the middle of the link is at 1."""


def named(answered: Packets, trial: TrialRecord) -> list[Segment]:
    """Return the segments of a trial's complete packets.

    Layers are named for that trial: a link engine stands in place of bridges, and nodes on one
    host have no wire between them. Beyond the sender's side a way to a host outside is one layer.
    """
    carried = _carried(trial)
    crossing = _crossing(trial)
    outside = trial.responder is not None and trial.responder.kind == OUTSIDE
    return [
        replace(
            part,
            layer=layers.OUTSIDE
            if outside and part.leg == "turn"
            else layers.carried(
                part.layer,
                by_link=not carried.isdisjoint(links := _links(trial, part)),
                one_host=crossing.isdisjoint(links),
            ),
            at=", ".join(filter(None, [_at(trial, part), _between_machines(trial, part)])),
        )
        for part in segments.segments(answered, trial.way, _in_host_stack(trial))
    ]


def by_emulated_link(trial: TrialRecord) -> bool:
    """Return True if a request leaves the sender's host through a link engine, between two points.

    The engine then delays it, as the link's conditions tell, between interface and uplink.
    """
    carried = _carried(trial)
    return bool(trial.ways) and all(
        {"sender.vif", "sender.uplink"} <= set(way.request)
        and any(hop.link in carried for hop in way.hops[:1])
        for way in trial.ways
    )


def _carried(trial: TrialRecord) -> set[str]:
    """Return the links that an engine carries."""
    return {each.link for engine in trial.links for each in engine.directions}


def _crossing(trial: TrialRecord) -> set[str]:
    """Return the links of a way that cross hosts."""
    return {
        _links_of(trial.way, leg)[_own_link(trial.way, leg, point)]
        for leg in LEGS
        for point in trial.way.points(leg)
        if bare(point) in ("uplink", WIRE)
    }


def _links_of(way: Way, leg: str) -> list[str]:
    """Return the links of a leg, the sender's first; the request's where those are not known."""
    return [hop.link for hop in way.from_sender(leg) or way.hops] or [ONLY]


def _at(trial: TrialRecord, part: Segment) -> str:
    """Return the routers and links that a segment lies in.

    Return "" for a way without routers or whose links are not known, and for a segment from a
    request to its reply.
    """
    hops = trial.way.from_sender(part.leg)
    if len(hops) < 2 or part.leg == "turn":
        return ""
    names = [name for hop in hops for name in (hop.link, hop.end)][:-1]
    passed = _passed(trial.way, part)
    return ", ".join(names[place - 1] for place in passed if 0 < place <= len(names))


def _between_machines(trial: TrialRecord, part: Segment) -> str:
    """Return the machines at a segment's ends, by their wires; "" in a lab on one machine."""
    agents = {point: AgentName(place.at) for point, place in trial.places.items()}
    wires = {point: agent for point, agent in agents.items() if agent.role == "wire"}
    if len(set(wires.values())) < 2 or part.leg == "turn":
        return ""
    machines = dict.fromkeys(
        wires[point].of or LOCAL_NAME for point in (part.start, part.end) if point in wires
    )
    return " to ".join(machines)


def _links(trial: TrialRecord, part: Segment) -> list[str]:
    """Return the links that a segment lies in; of a segment inside a node, the node's own."""
    way = trial.way
    if part.leg == "turn" and way.back is not None:
        ends = (("request", part.start), ("reply", part.end))
        return [
            link for leg, end in ends for link in _links_of(way, leg)[_own_link(way, leg, end) :]
        ]
    leg = "reply" if part.leg == "reply" else "request"
    links = _links_of(way, leg)
    passed = [place // 2 for place in _passed(way, part) if place % 2]
    return [links[number] for number in passed or [_own_link(way, leg, part.start)]]


def _own_link(way: Way, leg: str, point: str) -> int:
    """Return the number of the link that a point is on or nearest to."""
    return int(_place(way, leg, point) // 2)


def _passed(way: Way, part: Segment) -> range:
    """Return the places of the nodes and links that a segment lies in.

    Links and nodes alternate on the way, and each has a place: the sender is at 0, the first link
    at 1, the first router at 2.
    """
    legs = LEGS if part.leg == "turn" else (part.leg, part.leg)
    ends = zip(legs, (part.start, part.end), strict=True)
    first, last = sorted(_place(way, leg, point) for leg, point in ends)
    return range(floor(first + 0.5), ceil(last + 0.5))


def _place(way: Way, leg: str, point: str) -> float:
    """Return the place of a point, as `_passed` counts; a node ends half a step from its own."""
    of_node = {SENDER: 0, **dict.fromkeys((RESPONDER, WIRE), 2 * len(_links_of(way, leg)))}
    number = router_number(role(point))
    node = of_node[role(point)] if number is None else 2 * number
    outward = router_side(point) == FAR or role(point) == SENDER
    off = OFF.get(bare(point), 0.25)
    return node + off if outward else node - off


def _in_host_stack(trial: TrialRecord) -> list[str]:
    """Return the sides that have no cable: their node is in its host's own stack."""
    ends = {SENDER: trial.sender, RESPONDER: trial.responder}
    without_cable = [side for side in ends if f"{side}.vif" not in trial.way.request]
    return [
        side for side in without_cable if (end := ends[side]) and not facts_of(end.kind).own_stack
    ]
