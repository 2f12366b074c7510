"""Rules of claims: the bounds that an effect must keep, and in how many scenarios.

A rule is fixed before the data are looked at. Each scenario has an effect with a 95 % interval. The
effect keeps the rule if its whole interval lies within the bounds, and breaks it if the whole
interval lies beyond one of them. Otherwise the data do not decide.

Of several scenarios one may break a rule by chance. So where one scenario decides against a claim
(`every`) or for it (`some`), its interval is widened for their number (Bonferroni). A claim that is
false is then called true with a probability of at most 2.5 %, and one that is true is called false
with at most 2.5 %, whatever the number of scenarios.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

from delaylab_study.analysis.statistics.effects import Effect
from delaylab_study.analysis.statistics.quantiles import LEVEL

Scenarios = Literal["every", "most", "some"]
Stand = bool | None
"""True: the claim holds. False: it is contradicted. None: the data do not decide."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Bounds of an effect, either of which may be absent, and the scenarios in which it keeps them.

    With `beyond`, the effect must differ from its bound: "above 0" is more than "at least 0".
    """

    least: float = -math.inf
    most: float = math.inf
    scenarios: Scenarios = "every"
    beyond: bool = False

    def stand(self, effect: Effect, among: int = 1) -> Stand:
        """Return the stand of one effect, of `among` that could break the rule by chance."""
        if self._within(effect.interval):
            return True
        low, high = widened(effect, among)
        if self.beyond:
            return False if high <= self.least or low >= self.most else None
        return False if high < self.least or low > self.most else None

    def decide(self, effects: Sequence[Effect]) -> Stand:
        """Return the stand of a claim on at least one scenario, each with its effect."""
        n = len(effects)
        if self.scenarios == "some":
            return self._decide_some(effects)
        if self.scenarios == "most":
            stands = [self.stand(effect) for effect in effects]
            if 2 * stands.count(True) > n:
                return True
            return False if 2 * stands.count(False) >= n else None
        stands = [self.stand(effect, n) for effect in effects]
        if False in stands:
            return False
        return True if None not in stands else None

    def _decide_some(self, effects: Sequence[Effect]) -> Stand:
        if any(self._within(widened(effect, len(effects))) for effect in effects):
            return True
        return False if all(self.stand(effect) is False for effect in effects) else None

    def support(self, effect: Effect, among: int) -> tuple[int, float, float]:
        """Return a key that orders effects: the one that supports a claim least comes first.

        One that breaks the rule comes before one that does not decide, and that before one that
        keeps it. Those of one stand are ordered by how far inside the bounds their intervals lie.
        Intervals that are unknown are all alike, so the effects themselves are compared then.
        """
        stand = self.stand(effect, 1 if self.scenarios == "most" else among)
        order = {False: 0, None: 1, True: 2}[stand]
        low, high = effect.interval
        return order, self._inside(low, high), self._inside(effect.value, effect.value)

    def distance(self, effect: Effect) -> float:
        """Return how far an effect is from the nearest bound that its interval crosses, or 0."""
        low, high = effect.interval
        crossed = [bound for bound in (self.least, self.most) if low <= bound <= high]
        return min((abs(effect.value - bound) for bound in crossed), default=0.0)

    def more_data(self, effect: Effect) -> float | None:
        """Return how many times as many data would decide, from the width of the interval.

        The width falls with the square root of the number of trials. Return None if no number
        would: the effect lies at a bound, or nothing was seen to vary.
        """
        nearest = self.distance(effect)
        return max(1.0, (half_width(effect) / nearest) ** 2) if nearest else None

    def _inside(self, low: float, high: float) -> float:
        """Return how far inside the bounds two ends lie; it is negative if one lies beyond."""
        # A bound that is absent is far from every end, also from an infinite one.
        below = low - self.least if self.least > -math.inf else math.inf
        above = self.most - high if self.most < math.inf else math.inf
        return min(below, above)

    def _within(self, interval: tuple[float, float]) -> bool:
        low, high = interval
        if self.beyond:
            return self.least < low and high < self.most
        return self.least <= low and high <= self.most


def above(bound: float, scenarios: Scenarios = "every") -> Rule:
    """Return the rule that an effect is above a bound."""
    return Rule(least=bound, scenarios=scenarios, beyond=True)


def below(bound: float, scenarios: Scenarios = "every") -> Rule:
    """Return the rule that an effect is below a bound."""
    return Rule(most=bound, scenarios=scenarios, beyond=True)


def at_least(bound: float, scenarios: Scenarios = "every") -> Rule:
    """Return the rule that an effect is at least as large as a bound."""
    return Rule(least=bound, scenarios=scenarios)


def at_most(bound: float, scenarios: Scenarios = "every") -> Rule:
    """Return the rule that an effect is at most as large as a bound."""
    return Rule(most=bound, scenarios=scenarios)


def between(least: float, most: float, scenarios: Scenarios = "every") -> Rule:
    """Return the rule that an effect lies between two bounds."""
    return Rule(least, most, scenarios)


def no_more_than(margin: float, scenarios: Scenarios = "every") -> Rule:
    """Return the rule that an effect is at most this far from 0, in either direction."""
    return Rule(-margin, margin, scenarios)


def half_width(effect: Effect) -> float:
    """Return the longer side of an effect's interval.

    The other side may end where values of this kind do, say at a share of 1.
    """
    low, high = effect.interval
    return max(effect.value - low, high - effect.value)


def widened(effect: Effect, among: int) -> tuple[float, float]:
    """Return the interval widened so that all of `among` such intervals hold at 95 %.

    Its ends move away from the value as those of a normal distribution would.
    """
    if among <= 1:
        return effect.interval
    normal = NormalDist()
    tail = (1 - LEVEL) / 2
    factor = normal.inv_cdf(1 - tail / among) / normal.inv_cdf(1 - tail)
    low, high = effect.interval
    return effect.value - factor * (effect.value - low), effect.value + factor * (
        high - effect.value
    )
