"""Segments of one trial's packets, with the layers as they were in that trial."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from delaylab.analysis.packets import layers, segments
from delaylab.analysis.packets.segments import Segment
from delaylab.dataset.records.trial import OUTSIDE, TrialRecord
from delaylab.points import RESPONDER, SENDER, WIRE, bare, role, router_number
from delaylab.spec.kinds import facts_of


def named(answered: pl.DataFrame, trial: TrialRecord) -> list[Segment]:
    """Return the segments of a trial's complete packets.

    Layers are named for that trial: a link engine stands in place of bridges, and nodes on one
    host have no wire between them. Beyond the sender's side a way to a host outside is one layer.
    """
    carried = _carried(trial)
    # A way over routers never passes the wire, even if its nodes are on several hosts.
    one_host = WIRE not in trial.path.request
    outside = trial.responder is not None and trial.responder.kind == OUTSIDE
    return [
        replace(
            part,
            layer=layers.OUTSIDE
            if outside and part.leg == "turn"
            else layers.carried(
                part.layer,
                by_link=_link_between(trial, part.start, part.end) in carried,
                one_host=one_host,
            ),
            at=_at(trial, part),
        )
        for part in segments.segments(answered, trial.path, _in_host_stack(trial))
    ]


def by_emulated_link(trial: TrialRecord) -> bool:
    """Return True if a request leaves the sender's host through a link engine, between two points.

    The engine then delays it, as the link's conditions tell, between interface and uplink.
    """
    first = trial.hops[:1]
    points = {"sender.vif", "sender.uplink"} <= set(trial.path.request)
    return points and bool(first) and first[0].link in _carried(trial)


def _carried(trial: TrialRecord) -> set[str]:
    """Return the links that an engine carries."""
    return {each.link for engine in trial.links for each in engine.directions}


def _at(trial: TrialRecord, part: Segment) -> str:
    """Return the routers and links that a segment lies in, "" for a way without routers.

    Links and routers alternate on the way, so each has a place: the sender is at 0, the first link
    at 1, the first router at 2. A reply may take another way than its request, and only the
    request's is known; a segment from one to the other is not named.
    """
    if len(trial.hops) < 2 or part.leg == "turn":
        return ""
    first, last = sorted(_place(trial, point) for point in (part.start, part.end))
    names = [name for hop in trial.hops for name in (hop.link, hop.end)][:-1]
    return ", ".join(name for place, name in enumerate(names, 1) if first < place < last)


def _place(trial: TrialRecord, point: str) -> float:
    """Return the place of a point: half a step from its node, towards the link that it faces."""
    number = router_number(role(point))
    if number is None:
        return 0.5 if role(point) == SENDER else 2 * len(trial.hops) - 0.5
    return 2 * number + (-0.5 if bare(point) == "near" else 0.5)


def _in_host_stack(trial: TrialRecord) -> list[str]:
    """Return the sides whose node is in its host's own stack, without a cable of its own."""
    ends = {SENDER: trial.sender, RESPONDER: trial.responder}
    without_cable = [side for side in ends if f"{side}.vif" not in trial.path.request]
    return [
        side for side in without_cable if (end := ends[side]) and not facts_of(end.kind).own_stack
    ]


def _link_between(trial: TrialRecord, start: str, end: str) -> str | None:
    """Return the link of a segment between these points, or one of them if it spans several."""
    sides = {role(start), role(end)}
    for hop in trial.hops:
        if {role(hop.near), role(hop.far)} & sides == sides:
            return hop.link
    ends = trial.hops[:1] if SENDER in sides else trial.hops[-1:]
    return next((hop.link for hop in ends), None)
