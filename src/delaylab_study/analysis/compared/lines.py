"""Lines of a comparison: one statistic of one quantity, before and after."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Literal

from delaylab_study.analysis.compared.measured import (
    AFTER_EVENT,
    AT_WORK,
    ROUND_TRIP,
    SHARE,
    USER,
    ComparedQuantity,
)
from delaylab_study.analysis.compared.side import Side
from delaylab_study.analysis.statistics.effects import Effect

Verdict = Literal[
    "slower", "faster", "more lost", "fewer lost", "more", "less", "no difference seen"
]
NONE: Verdict = "no difference seen"
LOST = ComparedQuantity("packets lost", ROUND_TRIP, unit=SHARE)
OF_FAIR = "of the fair share"
"""Unit of a node's share of work: 1 is its fair share."""


@dataclass(frozen=True, slots=True)
class ComparedTrials:
    """The trials of one combination of levels on both sides; `doubts` undermine verdicts."""

    sides: tuple[Side, Side]
    levels: dict[str, str]
    trials: tuple[int, int]
    doubts: tuple[str, ...] = ()

    @property
    def in_blocks(self) -> bool:
        """Return True if both sides are of one dataset: trials of one repeat ran in one block."""
        return bool(self.sides[0].factor)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedLine:
    """The difference of one statistic of one part under one combination of levels, after − before.

    `statistic` is `median`, `p99`, `share` or, of work and events, `mean`. Delays are in µs, the
    packets lost are a share from 0 to 1, and work is in the part's own unit. `effect` has its
    99 % interval, by
    which the verdict is given. A difference of `sees` or more would have been seen. `n` are the
    packets of both sides, or for work the trials.
    """

    pair: ComparedTrials
    part: ComparedQuantity
    statistic: str
    before: float
    after: float
    effect: Effect
    n: tuple[int, int]
    verdict: Verdict
    sees: float

    @property
    def differs(self) -> bool:
        """Return True if a difference was seen."""
        return self.verdict != NONE

    @property
    def known(self) -> bool:
        """Return True if both sides carry an interval."""
        return isfinite(self.sees)

    @property
    def of_work(self) -> bool:
        """Return True for a rate or a share of work, and False for what packets tell."""
        return self.part.direction == AT_WORK

    @property
    def chief(self) -> bool:
        """Return True for the packets lost, the user RTT, and what each trial has once."""
        return self.part == LOST or self.part.name == USER or self.of_trials

    @property
    def of_trials(self) -> bool:
        """Return True for work and times after events: each trial has one value of it."""
        return self.part.direction in (AT_WORK, AFTER_EVENT)

    @property
    def unit(self) -> str:
        """Return `us`, `share` for the packets lost, or the unit of work."""
        return self.part.unit


def line(
    pair: ComparedTrials,
    part: ComparedQuantity,
    statistic: str,
    values: tuple[float, float],
    effect: Effect,
    n: tuple[int, int],
) -> ComparedLine:
    """Return a line with its verdict, which the effect's interval gives; `values` are of both."""
    low, high = effect.interval
    up, down = _words(part)
    verdict = up if low > 0 else down if high < 0 else NONE
    sees = max(effect.value - low, high - effect.value)
    before, after = values
    return ComparedLine(
        pair=pair,
        part=part,
        statistic=statistic,
        before=before,
        after=after,
        effect=effect,
        n=n,
        verdict=verdict,
        sees=sees,
    )


def _words(part: ComparedQuantity) -> tuple[Verdict, Verdict]:
    """Return the verdicts on an increase and on a decrease."""
    if part == LOST:
        return "more lost", "fewer lost"
    if part.direction != AT_WORK:
        return "slower", "faster"
    return ("more", "less") if part.unit == OF_FAIR else ("faster", "slower")
