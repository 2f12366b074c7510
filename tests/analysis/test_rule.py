"""Rules: what an interval says of a claim, over one scenario and over many."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from delaylab_study.analysis.claims.claim import Claim, Criterion, Measured, Source
from delaylab_study.analysis.claims.judge import judge
from delaylab_study.analysis.claims.rule import (
    Rule,
    Scenarios,
    above,
    at_least,
    at_most,
    between,
    no_more_than,
    widened,
)
from delaylab_study.analysis.claims.words import rule_in_words
from delaylab_study.analysis.statistics.effects import Effect


def effect(low: float, high: float) -> Effect:
    return Effect((low + high) / 2, (low, high))


@pytest.mark.parametrize(
    ("rule", "interval", "stand"),
    [
        (above(0), (1, 2), True),
        (above(0), (-2, -1), False),
        (above(0), (-1, 2), None),
        (above(0), (0, 0), False),
        (at_least(0), (0, 0), True),
        (at_most(5), (1, 5), True),
        (at_most(5), (6, 7), False),
        (no_more_than(0.1), (-0.05, 0.05), True),
        (no_more_than(0.1), (0.2, 0.3), False),
        (no_more_than(0.1), (-0.2, 0.3), None),
        (between(1, 2), (1.2, 1.8), True),
    ],
)
def test_an_effect_keeps_a_rule_breaks_it_or_does_not_decide(
    rule: Rule, interval: tuple[float, float], stand: bool | None
) -> None:
    assert rule.stand(effect(*interval)) is stand
    assert rule.decide([effect(*interval)]) is stand


YES, NO, UNKNOWN = effect(1, 2), effect(-9, -8), effect(-1, 1.5)


@pytest.mark.parametrize(
    ("scenarios", "effects", "stand"),
    [
        ("every", [YES, YES, YES], True),
        ("every", [YES, YES, NO], False),
        ("every", [YES, YES, UNKNOWN], None),
        ("most", [YES, YES, NO], True),
        ("most", [YES, NO, NO], False),
        ("most", [YES, NO], False),
        ("most", [YES, YES, UNKNOWN, UNKNOWN], None),
        ("some", [NO, NO, effect(8, 9)], True),
        ("some", [NO, NO, NO], False),
        ("some", [NO, NO, UNKNOWN], None),
    ],
)
def test_scenarios_are_counted_as_the_rule_says(
    scenarios: Scenarios, effects: list[Effect], stand: bool | None
) -> None:
    assert above(0, scenarios).decide(effects) is stand


def test_one_of_many_scenarios_contradicts_only_beyond_chance() -> None:
    """An interval that just excludes 0 does among 20 by chance in 40 % of cases."""
    just = effect(-2.1, -0.1)
    assert above(0).decide([just]) is False
    assert above(0).decide([just] + [YES] * 19) is None


@pytest.mark.parametrize("scenarios", ["every", "some", "most"])
def test_a_rule_errs_in_at_most_one_case_in_twenty(scenarios: Scenarios) -> None:
    """Twelve scenarios at the bound: a verdict of either kind is an error."""
    random = np.random.default_rng(1)
    decided = 0
    for _ in range(1000):
        values = random.normal(0, 1, 12)
        effects = [Effect(v, (v - 1.959964, v + 1.959964)) for v in values]
        decided += above(0, scenarios).decide(effects) is not None
    assert decided <= 65


def test_an_open_claim_says_how_many_times_as_many_trials_would_decide() -> None:
    """The interval is four times too wide: it narrows with the root of the number of trials."""
    assert above(0).more_data(Effect(1.0, (-3.0, 5.0))) == pytest.approx(16)
    assert no_more_than(1).more_data(Effect(0.5, (-1.5, 2.5))) == pytest.approx(16)
    assert above(0).more_data(Effect(0.0, (-1.0, 1.0))) is None
    assert above(0).more_data(YES) is None
    # The interval of a share ends at 1, so its width is that of the other side.
    assert at_least(0.99).more_data(Effect(0.95, (0.75, 1.0))) == pytest.approx(25)


@given(st.floats(-1e6, 1e6), st.floats(0, 1e6), st.integers(1, 1000))
def test_a_widened_interval_holds_the_interval(value: float, half: float, among: int) -> None:
    low, high = widened(Effect(value, (value - half, value + half)), among)
    assert low <= value - half <= value + half <= high


@pytest.mark.parametrize(
    ("rule", "unit", "words"),
    [
        (above(0), "µs", "above 0 in every scenario"),
        (at_most(0.5, "most"), "share", "at most 50 % in most scenarios"),
        (no_more_than(0.15), "share", "at most 15 % from 0 in every scenario"),
        (between(1, 2, "some"), "times", "from 1 × to 2 × in some scenario"),
    ],
)
def test_a_rule_is_written_with_its_unit(rule: Rule, unit: str, words: str) -> None:
    assert rule_in_words(rule, unit) == words


INF = math.inf


def deciding(rule: Rule, effects: list[Effect]) -> tuple[float, bool | None]:
    """The effect that a claim's verdict rests on, and the stand of the whole criterion."""
    found = [Measured(str(n), effect, ()) for n, effect in enumerate(effects)]
    criterion = Criterion("it", "µs", rule, lambda _: found, "trials")
    (judged,) = judge(Claim("a", "A.", Source("section 1"), (criterion,)), []).criteria
    return judged.deciding.effect, judged.stand


@pytest.mark.parametrize(
    ("scenarios", "effects", "expected"),
    [
        # Without intervals, the least is the one whose own value supports the claim least.
        ("every", [Effect(9, (-INF, INF)), Effect(-2, (-INF, INF)), Effect(3, (-INF, INF))], -2),
        ("some", [Effect(-9, (-INF, INF)), Effect(4, (-INF, INF)), Effect(3, (-INF, INF))], 4),
        # One that contradicts decides, not one of which nothing is known.
        ("every", [Effect(9, (-INF, INF)), Effect(-8, (-9, -7)), Effect(5, (4, 6))], -8),
        ("every", [Effect(5, (4, 6)), Effect(0.5, (-1, 2)), Effect(8, (7, 9))], 0.5),
        ("every", [Effect(5, (4, 6)), Effect(2, (1, 3)), Effect(8, (7, 9))], 2),
        ("most", [Effect(-8, (-9, -7)), Effect(-5, (-6, -4)), Effect(5, (4, 6)), YES], -5),
    ],
)
def test_the_deciding_scenario_is_the_one_that_the_verdict_rests_on(
    scenarios: Scenarios, effects: list[Effect], expected: float
) -> None:
    rule = above(0, scenarios)
    for order in permutations(effects):
        effect, stand = deciding(rule, list(order))
        assert effect == expected
        assert stand is rule.decide(effects)


def test_one_open_end_is_compared_with_a_bound_that_is_absent() -> None:
    effects = [Effect(3, (-INF, 4)), Effect(9, (-INF, 30))]
    assert {deciding(at_most(20), [one, other])[0] for one, other in permutations(effects)} == {9}


def test_a_reason_says_how_far_from_the_limit_an_effect_is() -> None:
    """An effect of 736 µs is not at a limit of 50 µs, however little is known of it."""
    found = Measured("a", Effect(736.0, (-36_000.0, 37_472.0)), ())
    criterion = Criterion("it", "µs", at_most(50), lambda _: [found], "trials")
    why = judge(Claim("a", "A.", Source("section 1"), (criterion,)), []).why
    assert "over 1000 times as many trials would be needed" in why
    assert "the effect is 686.0 µs from the limit, and known to ± 36.74 ms only" in why
    assert "at the limit" not in why
