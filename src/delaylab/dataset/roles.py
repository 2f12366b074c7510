"""Roles of a router's points on the way of a trial's packets.

Taps record routers' points by location (`r1@lan`), which does not depend on a packet's way. A
reader gets them by their role on the way (`hop2.near`), so that trials with other routers can be
compared. Records of earlier versions have roles already.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TypeVar

import polars as pl

from delaylab.dataset.records.taps import Tap
from delaylab.dataset.records.trial import Hop, PointPath, Repeats, TrialRecord
from delaylab.points import FAR, HOP, NEAR, OF_ROUTER, location

Item = TypeVar("Item", Tap, Repeats)


def roles(hops: list[Hop]) -> dict[str, str]:
    """Return the role of each location of a router on a way."""
    return dict(_roles(hops))


def _roles(hops: list[Hop]) -> Iterator[tuple[str, str]]:
    for number, (before, after) in enumerate(pairwise(hops), start=1):
        for side, link in ((NEAR, before.link), (FAR, after.link)):
            for end in OF_ROUTER:
                yield f"{location(before.end, link)}{end}", f"{HOP}{number}.{side}{end}"


def with_roles(trial: TrialRecord) -> TrialRecord:
    """Return a trial's record with the points of routers by their roles."""
    names = roles(trial.hops)
    if not names:
        return trial

    def renamed(point: str) -> str:
        return names.get(point, point)

    def at_points(listed: list[Item]) -> list[Item]:
        return [each.model_copy(update={"point": renamed(each.point)}) for each in listed]

    path, hops = trial.path, trial.hops
    return trial.model_copy(
        update={
            "path": PointPath(
                request=[renamed(point) for point in path.request],
                reply=[renamed(point) for point in path.reply],
            ),
            "places": {renamed(point): place for point, place in trial.places.items()},
            "hops": [
                hop.model_copy(update={"near": renamed(hop.near), "far": renamed(hop.far)})
                for hop in hops
            ],
            "taps": at_points(trial.taps),
            "repeats": trial.repeats and at_points(trial.repeats),
        }
    )


def stamps_with_roles(stamps: pl.DataFrame, trial: TrialRecord) -> pl.DataFrame:
    """Return a trial's stamps with the points of routers by their roles."""
    names = roles(trial.hops)
    if not names:
        return stamps
    point = pl.col("point").cast(pl.String).replace(names).cast(pl.Categorical)
    return stamps.with_columns(point)
