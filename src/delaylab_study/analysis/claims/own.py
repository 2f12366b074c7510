"""Claims of a study file as claims that can be judged: what each measures, scenario by scenario."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from delaylab_study.analysis.claims.claim import (
    ENOUGH,
    Claim,
    Criterion,
    Measure,
    Measured,
    Source,
)
from delaylab_study.analysis.claims.groups import pick, runs
from delaylab_study.analysis.claims.rule import Rule
from delaylab_study.analysis.claims.words import amount, rule_in_words
from delaylab_study.analysis.convergence.times import times_of
from delaylab_study.analysis.group import Group
from delaylab_study.analysis.packets.rtt import WITHOUT_LINKS
from delaylab_study.analysis.statistics.effects import (
    UNKNOWN,
    Effect,
    estimate,
    estimate_of_few,
)
from delaylab_study.analysis.statistics.quantiles import (
    Floats,
    last_axis_quantiles,
    locate,
    refusal,
)
from delaylab_study.analysis.statistics.wilson import wilson
from delaylab_study.study_file.claims import ClaimSpec

STUDY_FILE = Source("the study file")
COLUMNS = {
    "rtt.app": "app",
    "rtt.stack": "stack",
    "rtt.vif": "vif",
    "rtt.uplink": "uplink",
    "rtt.wire": "wire",
    "rtt.without-links": WITHOUT_LINKS,
    "rtt.service": "service",
    "added.total": "total",
    "added.kernel": "ΔKern",
    "added.user": "ΔUser",
    "added.overhead": "overhead",
    "one-way.sending": "sending",
    "one-way.receiving": "receiving",
}
"""Columns of a group's samples, by the names that a study file has for them."""
QUANTILES = {"median": 0.5, "p90": 0.9, "p99": 0.99}
TAILS = ("p90", "p99")
Levels = dict[str, str]


def claim_of(spec: ClaimSpec) -> Claim:
    """Return the claim that a study file declares."""
    rule = rule_of(spec)
    quantity = _quantity(spec)
    text = spec.text or f"{quantity}: {rule_in_words(rule, spec.limits.unit)}"
    criterion = Criterion(
        quantity,
        spec.limits.unit,
        rule,
        _measure(spec),
        _needs(spec),
        (spec.event or 1) - 1 if spec.of_events else None,
        is_difference=spec.against is not None,
    )
    source = spec.published.source if spec.published else ""
    return Claim(spec.claim, text, STUDY_FILE, (criterion,), own=True, published_in=source)


def rule_of(spec: ClaimSpec) -> Rule:
    """Return the rule that the limits of a claim stand for."""
    limits = spec.limits
    return Rule(
        limits.lower.value if limits.lower else -math.inf,
        limits.upper.value if limits.upper else math.inf,
        spec.scenarios,
        beyond=bool(limits.less_than or limits.more_than),
    )


def _quantity(spec: ClaimSpec) -> str:
    what = "share of packets lost" if spec.of == "lost" else f"{spec.statistic} {spec.of}"
    if spec.of_events:
        what += f" of event {spec.event or 1}"
    name = f"{what}, {_named(spec.group)}" if spec.group else what
    if spec.against is None:
        return name
    how = {"µs": "−", "share": "change from", "times": "÷"}[spec.limits.unit]
    if spec.of == "lost" and spec.limits.unit == "share":
        how = "−"
    return f"{name} {how} {_named(spec.against) or 'all'}"


def _named(levels: Levels) -> str:
    return " ".join(f"{factor}={level}" for factor, level in levels.items())


def _needs(spec: ClaimSpec) -> str:
    both = f" and alike with {_named(spec.against)}" if spec.against is not None else ""
    least = "sent packets" if spec.of == "lost" else f"at least {ENOUGH} packets of {spec.of} each"
    if spec.of_events:
        least = f"an event {spec.event or 1} whose time is known"
    return f"trials with {_named(spec.group) or 'any levels'}{both}, {least}"


def _measure(spec: ClaimSpec) -> Measure:
    def measure(groups: list[Group]) -> Iterator[Measured]:
        for ours, theirs in _scenarios(spec, groups):
            used = [group for group in (ours, theirs) if group is not None]
            name, refused = _scenario(spec, ours), _refusal(spec, used)
            if refused:
                yield Measured(name, Effect(math.nan, UNKNOWN), used, refused)
                continue
            effect = _lost(spec, ours, theirs) if spec.of == "lost" else _delay(spec, used)
            published = spec.published.value.value if spec.published else None
            if effect is not None:
                off = _bound_us(spec, used)
                words = amount(effect.value, spec.limits.unit)
                words += f", ± {off:.1f} µs that aligning clocks leaves open" if off else ""
                yield Measured(name, _widened(effect, off), used, words, published)

    return measure


def _scenarios(spec: ClaimSpec, groups: list[Group]) -> Iterator[tuple[Group, Group | None]]:
    """Yield each group of the claim, with the group that it is compared with, if it is."""
    for ours in pick(groups, **spec.group):
        if spec.against is None:
            yield ours, None
            continue
        named = spec.group.keys() | spec.against.keys()
        alike = {factor: level for factor, level in ours.factors.items() if factor not in named}
        for theirs in pick(groups, **{**alike, **spec.against}):
            if theirs is not ours:
                yield ours, theirs


def _scenario(spec: ClaimSpec, group: Group) -> str:
    others = {f: level for f, level in group.factors.items() if f not in spec.group}
    return _named(others) or _named(spec.group) or group.label


def _delay(spec: ClaimSpec, used: list[Group]) -> Effect | None:
    if spec.of_events:
        few = [_times_us(spec, group) for group in used]
        return estimate_of_few(few, _statistic(spec)) if all(map(len, few)) else None
    known = _series(spec, used)
    return estimate(known, _statistic(spec)) if len(known) == len(used) else None


def _times_us(spec: ClaimSpec, group: Group) -> Floats:
    """Return the time after the claim's event in each trial of a group."""
    found = times_of(group.convergence, (spec.event or 1) - 1, spec.of)
    return np.array([*found.values()], dtype=np.float64) * 1e6


def _series(spec: ClaimSpec, used: list[Group]) -> list[list[Floats]]:
    """Return the delays of the groups that have enough."""
    series = [runs(each, COLUMNS[spec.of]) for each in used]
    return [values for values in series if values is not None]


def _bound_us(spec: ClaimSpec, used: list[Group]) -> float:
    """Return by how much the delay of a claim may be wrong because two clocks were aligned.

    Each group's clocks were aligned by themselves, so that the errors of two groups add up.
    """
    column = COLUMNS.get(spec.of, "")
    known = (group.packets.bounds for group in used if group.packets)
    return sum(bounds.get(column, 0.0) for bounds in known)


def _widened(effect: Effect, off_us: float) -> Effect:
    """Return an effect in µs, its interval widened by the error of its clocks."""
    low, high = effect.interval
    return replace(effect, interval=(low - off_us, high + off_us)) if off_us else effect


def _refusal(spec: ClaimSpec, used: list[Group]) -> str:
    """Return why a quantity of a group is refused; "" if it is given.

    Tail quantiles are refused as in all tables.
    """
    if (off := _bound_us(spec, used)) and spec.limits.unit != "µs":
        return f"aligning clocks leaves ± {off:.1f} µs open: state the limits in µs"
    if spec.statistic not in TAILS or spec.of == "lost":
        return ""
    for run in _series(spec, used):
        (found,) = locate(run, (QUANTILES[spec.statistic],))
        if found.interval is None:
            return refusal(found, sum(map(len, run)))
    return ""


def _statistic(spec: ClaimSpec) -> Callable[[list[Floats]], Floats]:
    def one(values: Floats) -> Floats:
        if spec.statistic == "mean":
            return np.asarray(np.mean(values, axis=-1))
        return np.asarray(last_axis_quantiles(values, (QUANTILES[spec.statistic],))[0])

    def of(series: list[Floats]) -> Floats:
        if len(series) == 1:
            return one(series[0])
        ours, theirs = map(one, series)
        if spec.limits.unit == "µs":
            return np.asarray(ours - theirs)
        return np.asarray(ours / theirs - (1 if spec.limits.unit == "share" else 0))

    return of


def _lost(spec: ClaimSpec, ours: Group, theirs: Group | None) -> Effect | None:
    """Return the share lost of what was sent, or its difference or ratio, with an interval.

    A share has Wilson's interval, a difference Newcombe's (1998, Statistics in Medicine 17:873),
    and a ratio that of its logarithm (Katz et al. 1978, Biometrics 34:469), with half a packet more
    in each count if nothing was lost on one side (Anscombe 1956, Biometrika 43:461).
    """
    if not ours.sent or (theirs is not None and not theirs.sent):
        return None
    share = ours.lost / ours.sent
    low, high = wilson(share, ours.sent)
    if theirs is None:
        return Effect(share, (low, high))
    other = theirs.lost / theirs.sent
    if spec.limits.unit == "share":
        their_low, their_high = wilson(other, theirs.sent)
        value = share - other
        below = math.hypot(share - low, their_high - other)
        above = math.hypot(high - share, other - their_low)
        return Effect(value, (value - below, value + above))
    lost, their_lost = float(ours.lost), float(theirs.lost)
    if not lost or not their_lost:
        lost, their_lost = lost + 0.5, their_lost + 0.5
        share, other = lost / (ours.sent + 1), their_lost / (theirs.sent + 1)
    spread = math.sqrt((1 - share) / lost + (1 - other) / their_lost)
    factor = math.exp(1.959964 * spread)
    return Effect(share / other, (share / other / factor, share / other * factor))
