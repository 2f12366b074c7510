"""Comparison of events: the times after each, trial by trial, on two sides."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from delaylab_study.analysis.claims.doubted import doubts_of
from delaylab_study.analysis.compared.blocks import common_blocks
from delaylab_study.analysis.compared.lines import ComparedLine, ComparedTrials, line
from delaylab_study.analysis.compared.measured import AFTER_EVENT, ComparedQuantity
from delaylab_study.analysis.convergence.times import times_of
from delaylab_study.analysis.group import Group
from delaylab_study.analysis.statistics.effects import UNKNOWN, Effect
from delaylab_study.analysis.statistics.two_runs import among_trials

COMPARED = {
    "detected": "detected",
    "last change": "last change",
    "right": "all tables right",
    "quiet": "quiet",
    "outage": "outage",
}
"""The times that are compared, with their words. When a network had converged is either of two."""


def event_lines(pair: ComparedTrials, before: Group, after: Group) -> Iterator[ComparedLine]:
    """Yield the differences of means of the times after the events that both sides have."""
    events = [
        [event.record.words for event in group.convergence[0].events] if group.convergence else []
        for group in (before, after)
    ]
    for number, (ours, theirs) in enumerate(zip(*events, strict=False)):
        if ours != theirs:
            return
        doubted = replace(pair, doubts=_doubts(pair, (before, after), number))
        for name, words in COMPARED.items():
            sides = [times_of(group.convergence, number, name) for group in (before, after)]
            if all(sides):
                part = ComparedQuantity(f"{words} after {ours}", AFTER_EVENT)
                yield _line(doubted, part, *sides)


def _doubts(pair: ComparedTrials, groups: tuple[Group, Group], number: int) -> tuple[str, ...]:
    """Return the doubts about the times after an event, each with the side that it is about."""
    return tuple(
        f"{doubt.kind} ({side.name})"
        for side, group in zip(pair.sides, groups, strict=True)
        for doubt in doubts_of([group], event=number)
        if doubt.undermines
    )


def _line(
    pair: ComparedTrials,
    part: ComparedQuantity,
    before: dict[int, float],
    after: dict[int, float],
) -> ComparedLine:
    common = common_blocks(before, after) if pair.in_blocks else []
    ours = 1e6 * np.array([before[repeat] for repeat in common or before])
    theirs = 1e6 * np.array([after[repeat] for repeat in common or after])
    value = float(theirs.mean() - ours.mean())
    half = among_trials(ours, theirs, paired=bool(common))
    effect = Effect(value, (value - half, value + half) if half else UNKNOWN)
    means = float(ours.mean()), float(theirs.mean())
    return line(pair, part, "mean", means, effect, (len(ours), len(theirs)))
