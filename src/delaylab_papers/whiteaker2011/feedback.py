"""Quantities of feedback against bias: what the packets that were called clean say of rest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from delaylab_study.papers.toolkit import (
    ENOUGH,
    Effect,
    Floats,
    Group,
    Measured,
    Run,
    estimate,
    in_words,
    median_in_words,
    of_medians,
    runs,
    share_of,
    whole,
)

from .measures import KINDS, REST, UNUSUAL

LEAST_EXCESS = 0.1
"""The excess of bad samples from which on a load makes samples bad."""


@dataclass(frozen=True)
class _Rest:
    group: Group
    delays: Run


def clean_median_error(groups: list[Group]) -> Iterator[Measured]:
    """Yield the error of the clean median against rest, as a part of the raw one's."""
    for group, rest, clean, raw in _judged(groups):
        each = (("clean", clean), ("raw", raw), ("at rest", rest.delays))
        yield Measured(
            _name(group),
            estimate([clean, raw, rest.delays], of_medians(_error)),
            (group, rest.group),
            ", ".join(f"{name} {median_in_words(delays)}" for name, delays in each),
            aside=group.kind not in KINDS,
        )


def bad_samples_left(groups: list[Group]) -> Iterator[Measured]:
    """Yield the excess of bad samples among clean packets, as a part of that among all.

    Bad is a delay above the 99th percentile at rest, so that one in a hundred is no excess.
    """
    for group, rest, clean, raw in _judged(groups):
        limit_us = float(np.quantile(whole(rest.delays), UNUSUAL))
        raw_excess = float(np.mean(whole(raw) > limit_us)) - (1 - UNUSUAL)
        if raw_excess < LEAST_EXCESS:
            continue
        bad = share_of([trial > limit_us for trial in clean], clean)
        value, low, high = (
            (share - (1 - UNUSUAL)) / raw_excess for share in (bad.value, *bad.interval)
        )
        yield Measured(
            _name(group),
            Effect(value, (low, high)),
            (group, rest.group),
            f"above {in_words(limit_us)}: clean {bad.value:.1%}, "
            f"raw {raw_excess + 1 - UNUSUAL:.1%}",
            aside=group.kind not in KINDS,
        )


def refused_at_rest(groups: list[Group]) -> Iterator[Measured]:
    """Yield the share of packets at rest that the machine's use would have refused."""
    for group in groups:
        judged = group.packets.judged if group.packets else None
        if group.load != REST or judged is None:
            continue
        delays = judged.on_schedule_of("app")
        if sum(map(len, delays)) >= ENOUGH:
            yield Measured(
                group.kind,
                share_of(judged.refused, delays),
                (group,),
                aside=group.kind not in KINDS,
            )


def _judged(groups: list[Group]) -> Iterator[tuple[Group, _Rest, Run, Run]]:
    """Yield each group under a load that pauses, its rest, and its clean and all delays in µs."""
    for group in groups:
        judged = group.packets.judged if group.packets else None
        at_rest = next((each for each in groups if _is_rest_of(each, group)), None)
        rest = runs(at_rest, "total") if at_rest else None
        if judged is None or at_rest is None or rest is None:
            continue
        clean, raw = judged.clean_of("total"), judged.on_schedule_of("total")
        if min(sum(map(len, each)) for each in (clean, raw)) >= ENOUGH:
            yield group, _Rest(at_rest, rest), clean, raw


def _name(group: Group) -> str:
    return f"{group.kind}, {group.factors['load']}"


def _is_rest_of(rest: Group, group: Group) -> bool:
    """Return True if a group is of the same levels, and at rest."""
    levels = {**group.factors, "load": rest.factors.get("load", "")}
    return rest.load == REST and group.load != REST and rest.factors == levels


def _error(clean: Floats, raw: Floats, rest: Floats) -> Floats:
    return np.asarray((clean - rest) / (raw - rest))
