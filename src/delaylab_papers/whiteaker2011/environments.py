"""Quantities of claims that compare environments, or one stressed guest with four."""

from __future__ import annotations

from collections.abc import Iterator

from delaylab_study.papers.toolkit import (
    Group,
    Measured,
    estimate,
    median_in_words,
    of_medians,
    runs,
)

from .measures import ALL_GUESTS, CONTAINER, LINUX, NETWORK, ONE_GUEST, VSERVER
from .published import TABLE


def vserver_to_linux(groups: list[Group]) -> Iterator[Measured]:
    """Yield VServer's median delay as a multiple of Linux's under each load."""
    yield from _ratios(groups, VSERVER, LINUX)


def openvz_to_vserver(groups: list[Group]) -> Iterator[Measured]:
    """Yield OpenVZ's median delay as a multiple of VServer's under each load but the network."""
    found = _ratios(groups, CONTAINER, VSERVER)
    yield from (each for each in found if each.groups[0].load != NETWORK)


def openvz_to_vserver_in_network(groups: list[Group]) -> Iterator[Measured]:
    """Yield OpenVZ's median ΔKern as a multiple of VServer's under network load."""
    found = _ratios(groups, CONTAINER, VSERVER, "ΔKern")
    yield from (each for each in found if each.groups[0].load == NETWORK)


def all_guests_to_one(groups: list[Group]) -> Iterator[Measured]:
    """Yield the median delay with four stressed guests as a multiple of that with one."""
    for group in groups:
        name = group.factors.get("stress", "")
        if not name.endswith(ALL_GUESTS):
            continue
        other = {**group.factors, "stress": name.removesuffix(ALL_GUESTS) + ONE_GUEST}
        alone = next((each for each in groups if each.factors == other), None)
        ours = runs(group, "total")
        theirs = runs(alone, "total") if alone else None
        if alone and ours is not None and theirs is not None:
            yield Measured(
                f"{group.kind}, {group.load}",
                estimate([ours, theirs], of_medians(lambda many, one: many / one)),
                (group, alone),
                f"{median_in_words(ours)} with four guests, {median_in_words(theirs)} with one",
            )


def _ratios(groups: list[Group], ours: str, theirs: str, of: str = "total") -> Iterator[Measured]:
    """Yield the median delay of one kind as a multiple of another's, under each load."""
    for group in (each for each in groups if each.kind == ours):
        other = next((g for g in groups if (g.kind, g.load) == (theirs, group.load)), None)
        mine = runs(group, of)
        its = runs(other, of) if other else None
        if other is None or mine is None or its is None:
            continue
        rows = [TABLE.get((kind, group.load)) for kind in (ours, theirs)]
        known = [row.median[of] for row in rows if row is not None]
        yield Measured(
            group.load,
            estimate([mine, its], of_medians(lambda one, two: one / two)),
            (group, other),
            f"{ours} {median_in_words(mine)}, {theirs} {median_in_words(its)}",
            known[0] / known[1] if len(known) == len(rows) else None,
        )
