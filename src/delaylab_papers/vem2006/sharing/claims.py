"""vem2006's claims on events that nodes of one machine get at one moment, section V A."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from delaylab_study.papers.toolkit import (
    Claim,
    Criterion,
    Floats,
    Group,
    Measured,
    Source,
    above,
    at_least,
    at_most,
    between,
    estimate_of_few,
    mean_of_few,
)

from ..published import JOB_MS, JOB_NODES, JOB_OWN_MS, SPREAD_MS, UPDATES_MS, UPDATES_NODES
from .measures import FEWEST, Setting, figures, groups_of, settings

NS_PER_MS = 1e6
IN_TURN = (0.9, 1.3)
"""The time until the last of N nodes has done its job, over N jobs one after the other. The paper's
is 1.02: 64 ms over 62.5. Switches cost something, and time that is not used is more than that."""
INTERLEAVED = 0.5
"""The time until the first node is done, over that of the last. Taking turns, all nodes are done
late: the paper's is 0.81. One after the other, the first of five would be done after a fifth."""
WHOLE = 0.9
"""The share of trains of updates that no other node's train interrupts; the paper saw none that
was."""
ROUGHLY = (1000 * (UPDATES_MS - 0.5), 1000 * (UPDATES_MS + 0.5))
"""Bounds of "roughly 4.5 msec", in µs: its parts are 2.7 and 1.5 ms, "that adds up to 4.5"."""
FEWER, MORE = 5, 10
"""The numbers of nodes that the paper compares."""


def _known(groups: list[Group], where: Setting, name: str) -> Floats | None:
    found = figures(groups, where, name)
    return found if len(found) >= FEWEST else None


def spreads_over_published(groups: list[Group]) -> Iterator[Measured]:
    """Yield the time between the first and the last node's note, over the paper's upper bound."""
    for where in settings(groups, "broadcast"):
        bound_ms = SPREAD_MS.get((where.nodes, where.is_loaded))
        found = _known(groups, where, "widest")
        if bound_ms is not None and found is not None:
            yield Measured(
                str(where),
                mean_of_few(found / (NS_PER_MS * bound_ms)),
                groups_of(groups, where),
                f"{found.mean() / NS_PER_MS:.3f} ms",
                kinds=(where.kind,),
            )


def more_over_fewer(groups: list[Group]) -> Iterator[Measured]:
    """Yield the spread over ten nodes ÷ that over five, at rest and under load."""
    for kind, every in _by_kind(groups).items():
        for loaded in (False, True):
            fewer, more = (_of(every, nodes, loaded=loaded) for nodes in (FEWER, MORE))
            published = SPREAD_MS[MORE, loaded] / SPREAD_MS[FEWER, loaded]
            name = f"{'under load' if loaded else 'at rest'}, {kind}"
            yield from _ratio(groups, name, more, fewer, published)


def loaded_over_rest(groups: list[Group]) -> Iterator[Measured]:
    """Yield the spread under load ÷ that at rest, for both numbers of nodes."""
    for kind, every in _by_kind(groups).items():
        for nodes in (FEWER, MORE):
            rest, load = (_of(every, nodes, loaded=loaded) for loaded in (False, True))
            published = SPREAD_MS[nodes, True] / SPREAD_MS[nodes, False]
            yield from _ratio(groups, f"{nodes} nodes, {kind}", load, rest, published)


def _by_kind(groups: list[Group]) -> dict[str, list[Setting]]:
    found = [*settings(groups, "broadcast")]
    return {kind: [each for each in found if each.kind == kind] for kind in _kinds(found)}


def _kinds(found: list[Setting]) -> list[str]:
    return list(dict.fromkeys(each.kind for each in found))


def _of(every: list[Setting], nodes: int, *, loaded: bool) -> Setting | None:
    fitting = (each for each in every if each.nodes == nodes and each.is_loaded == loaded)
    return next(fitting, None)


def _ratio(
    groups: list[Group], name: str, one: Setting | None, other: Setting | None, published: float
) -> Iterator[Measured]:
    if one is None or other is None:
        return
    ours, theirs = _known(groups, one, "spread"), _known(groups, other, "spread")
    if ours is None or theirs is None:
        return
    effect = estimate_of_few(
        [ours, theirs], lambda s: np.asarray(s[0].mean(axis=-1) / s[1].mean(axis=-1))
    )
    used = [*groups_of(groups, one), *groups_of(groups, other)]
    words = f"{ours.mean() / NS_PER_MS:.3f} and {theirs.mean() / NS_PER_MS:.3f} ms"
    yield Measured(name, effect, used, words, published, kinds=(one.kind,))


def last_over_all_jobs(groups: list[Group]) -> Iterator[Measured]:
    """Yield the time until the last node has done its job ÷ all jobs one after the other."""
    for where in settings(groups, "job"):
        found = _known(groups, where, "done-last")
        if found is not None:
            in_turn_ns = NS_PER_MS * JOB_OWN_MS * where.nodes
            is_published = where.nodes == JOB_NODES
            published = JOB_MS[1] / (JOB_OWN_MS * JOB_NODES) if is_published else None
            words = f"{found.mean() / NS_PER_MS:.1f} ms"
            used = groups_of(groups, where)
            effect = mean_of_few(found / in_turn_ns)
            yield Measured(str(where), effect, used, words, published, kinds=(where.kind,))


def first_over_last(groups: list[Group]) -> Iterator[Measured]:
    """Yield the time until the first node is done ÷ that of the last, for several nodes."""
    for where in settings(groups, "job"):
        first, last = _known(groups, where, "done-first"), _known(groups, where, "done-last")
        if where.nodes > 1 and first is not None and last is not None:
            published = JOB_MS[0] / JOB_MS[1] if where.nodes == JOB_NODES else None
            words = f"{first.mean() / NS_PER_MS:.1f} and {last.mean() / NS_PER_MS:.1f} ms"
            used = groups_of(groups, where)
            effect = mean_of_few(first / last)
            yield Measured(str(where), effect, used, words, published, kinds=(where.kind,))


def whole_trains(groups: list[Group]) -> Iterator[Measured]:
    """Yield the share of nodes whose ten updates no other node's interrupted."""
    for where in settings(groups, "chain"):
        found = _known(groups, where, "whole")
        if found is not None and where.nodes > 1:
            words = f"{100 * found.mean():.1f} %"
            effect = mean_of_few(found, (0.0, 1.0))
            used = groups_of(groups, where)
            aside = where.nodes != UPDATES_NODES
            yield Measured(str(where), effect, used, words, 1.0, aside=aside, kinds=(where.kind,))


def passed_on_within(groups: list[Group]) -> Iterator[Measured]:
    """Yield the time from the first update's arrival until the last one was sent on."""
    for where in settings(groups, "chain"):
        found = _known(groups, where, "passed-on")
        if found is not None:
            words = f"{found.mean() / NS_PER_MS:.3f} ms"
            used, aside = groups_of(groups, where), where.nodes != UPDATES_NODES
            published = None if aside else 1000 * UPDATES_MS
            yield Measured(
                str(where),
                mean_of_few(found / 1000),
                used,
                words,
                published,
                aside=aside,
                kinds=(where.kind,),
            )


BROADCAST = "trials with test=broadcast, 5 and 10 nodes"
CLAIMS = {
    claim.id: claim
    for claim in (
        Claim(
            "sharing-spread-within",
            "Nodes of one CPU get a broadcast within milliseconds of each other: 0.6 and 2 ms for "
            "5 and 10 nodes at rest, 1 and 2.5 ms under load.",
            Source(
                "section V A",
                "For 10 virtual routers that are not loaded, the time difference between the first "
                "and the last entry in the log is less than 2 msec.",
            ),
            (
                Criterion(
                    "widest time between the first and the last node's answer ÷ the paper's bound",
                    "times",
                    at_most(1),
                    spreads_over_published,
                    BROADCAST,
                    is_difference=False,
                ),
            ),
            about=("scheduling", "speed"),
        ),
        Claim(
            "sharing-more-nodes-wider",
            "The more nodes share a CPU, the further apart they get a broadcast.",
            Source(
                "section V A",
                "With 5 routers under no load the maximum difference is below 600 usec.",
            ),
            (
                Criterion(
                    "spread over 10 nodes ÷ spread over 5",
                    "times",
                    above(1),
                    more_over_fewer,
                    BROADCAST,
                ),
            ),
            about=("scheduling",),
        ),
        Claim(
            "sharing-load-wider",
            "Under load nodes get a broadcast further apart than at rest.",
            Source(
                "section V A",
                "Under load close to their maximum throughput this time increases to less than 2.5 "
                "msec.",
            ),
            (
                Criterion(
                    "spread under load ÷ spread at rest",
                    "times",
                    above(1),
                    loaded_over_rest,
                    "trials with test=broadcast, at rest and under load",
                ),
            ),
            about=("scheduling",),
        ),
        Claim(
            "sharing-job-in-turn",
            "Nodes that compute at one moment take turns: all are done late, the last after the "
            "time of all jobs.",
            Source(
                "section V A",
                "When 5 virtual machines have to process simultaneously an event that requires "
                "12.5 msec for its processing, the last virtual router to complete the "
                "computations does so 64 msec after the arrival of the event on the physical "
                "system. The earlier completion is 52 msec after the arrival of the event.",
            ),
            (
                Criterion(
                    "time until the last node is done ÷ all jobs one after the other",
                    "times",
                    between(*IN_TURN),
                    last_over_all_jobs,
                    "trials with test=job",
                ),
                Criterion(
                    "time until the first node is done ÷ until the last",
                    "share",
                    above(INTERLEAVED),
                    first_over_last,
                    "trials with test=job and several nodes",
                ),
            ),
            about=("scheduling",),
        ),
        Claim(
            "sharing-updates-in-one-go",
            "Ten routers that get an update pass it on in one go each.",
            Source(
                "section V A",
                "Then we observe that all virtual routers have their chance to send their updates "
                "and this is done in one go, i.e. sending of updates is not interrupted.",
                "figure 20",
            ),
            (
                Criterion(
                    "share of routers whose ten updates no other router's interrupted",
                    "share",
                    at_least(WHOLE),
                    whole_trains,
                    "trials with test=chain",
                ),
            ),
            about=("scheduling",),
        ),
        Claim(
            "sharing-updates-within",
            "The last of ten routers' updates leaves 4.5 ms after the first one came.",
            Source(
                "section V A",
                "Thus the last update leaves the box roughly 4.5 msec after the first update was "
                "received.",
                "figure 20",
            ),
            (
                Criterion(
                    "time from the first update's arrival until the last was sent on",
                    "µs",
                    between(*ROUGHLY),
                    passed_on_within,
                    "trials with test=chain",
                ),
            ),
            about=("scheduling", "speed"),
        ),
    )
}
