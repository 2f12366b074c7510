"""Effects and rules in words, each with its unit."""

from __future__ import annotations

import math

import numpy as np

from delaylab_study.analysis.claims.rule import Rule
from delaylab_study.analysis.statistics.runs import Series, as_run, whole


def in_words(us: float) -> str:
    """Write a delay in µs, in ms from 1000 µs on, or in s from 1 000 000 µs on."""
    if abs(us) >= 1_000_000:
        return f"{us / 1_000_000:.2f} s"
    return f"{us / 1000:.2f} ms" if abs(us) >= 1000 else f"{us:.1f} µs"


def median_in_words(series: Series, unit: str = "µs") -> str:
    """Write the median of a series, or of a run's packets."""
    middle = float(np.median(whole(as_run(series))))
    return in_words(middle) if unit == "µs" else amount(middle, unit)


def amount(value: float, unit: str) -> str:
    """Write an effect: µs as a delay, a share in percent, times as a multiple."""
    if value == 0:
        return "0"
    if unit == "µs":
        return in_words(value)
    if unit == "share":
        return f"{100 * value:.3g} %"
    return f"{value:.3g} ×" if unit == "times" else f"{value:.4g}"


def rule_in_words(rule: Rule, unit: str) -> str:
    """Write a rule: its bounds, and the scenarios that must keep them."""
    low, high = (amount(bound, unit) for bound in (rule.least, rule.most))
    if rule.least == -math.inf:
        bounds = f"{'below' if rule.beyond else 'at most'} {high}"
    elif rule.most == math.inf:
        bounds = f"{'above' if rule.beyond else 'at least'} {low}"
    elif rule.least == -rule.most:
        bounds = f"at most {high} from 0"
    else:
        bounds = f"from {low} to {high}"
    return f"{bounds} in {rule.scenarios} scenario{'s' if rule.scenarios == 'most' else ''}"
