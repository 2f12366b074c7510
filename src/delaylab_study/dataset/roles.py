"""Roles of a router's points on a way.

Taps record routers' points by location (`r1@lan`), which does not depend on a packet's way. A
reader gets them by their role on the way (`hop2.near`), so that ways over other routers can be
compared. Routers are numbered from the sender on both legs. Records of earlier versions have roles
already.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TypeVar

from delaylab.api.points import FAR, HOP, LEGS, NEAR, OF_ROUTER, location
from delaylab.api.records import TapRecord
from delaylab_study.dataset.records.trial import Repeats, TrialRecord
from delaylab_study.dataset.records.ways import Hop, Way

Item = TypeVar("Item", TapRecord, Repeats)


def roles(way: Way, leg: str) -> dict[str, str]:
    """Return the role of each location of a router on one leg, `request` or `reply`, of a way."""
    return dict(_roles(way.from_sender(leg)))


def _roles(hops: list[Hop]) -> Iterator[tuple[str, str]]:
    for number, (before, after) in enumerate(pairwise(hops), start=1):
        for side, link in ((NEAR, before.link), (FAR, after.link)):
            for end in OF_ROUTER:
                yield f"{location(before.end, link)}{end}", f"{HOP}{number}.{side}{end}"


def with_roles(trial: TrialRecord) -> TrialRecord:
    """Return a trial's record with the points of routers by their roles.

    Where packets went several ways, a location has a role on each (`on_way`), and keeps its name.
    """
    return on_way(trial, trial.way) if len(trial.ways) == 1 else trial


def on_way(trial: TrialRecord, way: Way) -> TrialRecord:
    """Return a trial's record with one of its ways alone, its points named by roles."""
    by_leg: dict[str, dict[str, str]] = {leg: roles(way, leg) for leg in LEGS}
    names = by_leg["reply"] | by_leg["request"]

    def at_points(listed: list[Item]) -> list[Item]:
        return [
            item.model_copy(update={"point": names.get(item.point, item.point)}) for item in listed
        ]

    changed: dict[str, object] = {"ways": [_renamed(way, by_leg)]}
    if names:
        changed |= {
            "places": {
                leg.get(point, point): place
                for point, place in trial.places.items()
                for leg in by_leg.values()
            },
            "taps": at_points(trial.taps),
            "repeats": trial.repeats and at_points(trial.repeats),
        }
    return trial.model_copy(update=changed)


def _renamed(way: Way, by_leg: dict[str, dict[str, str]]) -> Way:
    """Return a way with the points of its routers by their roles on each leg."""
    request, reply = by_leg["request"], by_leg["reply"]
    changed: dict[str, object] = {
        "request": [request.get(point, point) for point in way.request],
        "reply": [reply.get(point, point) for point in way.reply],
        "hops": [_hop(hop, request) for hop in way.hops],
    }
    if way.back is not None:
        changed["back"] = [_hop(hop, reply) for hop in way.back]
    return way.model_copy(update=changed)


def _hop(hop: Hop, names: dict[str, str]) -> Hop:
    ends = {"near": names.get(hop.near, hop.near), "far": names.get(hop.far, hop.far)}
    return hop.model_copy(update=ends)
