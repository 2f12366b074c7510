"""Judgement of a claim on the trials of a study."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from delaylab.api.kinds import Mechanism
from delaylab_study.analysis.claims.claim import Claim, Criterion
from delaylab_study.analysis.claims.doubted import CPU_BOUND, ClaimDoubt, GroupDoubts, joined
from delaylab_study.analysis.claims.finding import (
    OWN_VERDICTS,
    VERDICTS,
    Finding,
    JudgedCriterion,
    Scenario,
    Verdict,
)
from delaylab_study.analysis.claims.mechanisms import fitting
from delaylab_study.analysis.claims.observed import Observed, ObservedScenario, observe
from delaylab_study.analysis.claims.rule import Rule, Stand, half_width
from delaylab_study.analysis.claims.words import amount, rule_in_words
from delaylab_study.analysis.group import Group

MOST_TIMES = 1000
"""The largest number of times as many trials that a reason names."""
WOULD: dict[Verdict, str] = {
    "reproduced": "would be reproduced",
    "contradicted": "would be contradicted",
    "holds": "would hold",
    "does not hold": "would not hold",
    "open": "would be open",
}
WITHOUT_CLOCK: frozenset[Mechanism] = frozenset({"computation"})
"""Mechanisms of which no clock is read: a machine that is busy changes nothing about them."""
LISTED = 6
"""The largest number of scenarios that a reason lists; of more it names the deciding one."""


def judge(claim: Claim, groups: list[Group], out_of_reach: str = "") -> Finding:
    """Return the verdict on a claim from the trials of a study (`observe`, `decide`)."""
    return decide(claim, observe(claim, groups), out_of_reach)


def decide(claim: Claim, observed: Observed, out_of_reach: str = "") -> Finding:
    """Return the verdict on a claim from what was observed.

    The claim is decided by its criteria, all of which must hold. It is open if the data leave a
    criterion open, or if a doubt undermines it (`doubted`).

    Scenarios whose nodes lack a mechanism that the claim is about are set aside where there are
    others. If there are none, the claim is not testable here, and the finding shows what was
    measured.

    `out_of_reach` is the reason why trials like these cannot test the claim, "" if they can. With
    one the claim is not testable here, and the finding shows what was measured.
    """
    if observed.missing:
        why = f"{observed.missing}{observed.left_out}"
        return _finding(claim, "not testable here", why, (), ())
    used: dict[int, GroupDoubts] = {}
    judged: list[JudgedCriterion] = []
    lacking = ""
    for criterion, seen in zip(claim.criteria, observed.criteria, strict=True):
        about = claim.about if criterion.about is None else criterion.about
        fit = fitting(seen.scenarios, about)
        lacking = lacking or fit.lacking
        counted = [each for each in fit.scenarios if not each.aside]
        used |= {place: observed.groups[place] for each in counted for place in each.groups}
        judged.append(_judged(criterion, fit.scenarios))
    doubts = _doubts(claim, judged, list(used.values()))
    verdicts = OWN_VERDICTS if claim.own else VERDICTS
    untestable = lacking or out_of_reach
    verdict, why, judged = _verdict(verdicts, judged, doubts, untestable)
    if _all(judged) is not True and claim.caveat:
        why = f"{why}. {claim.caveat}"
    found = _finding(claim, verdict, f"{why}{observed.left_out}", tuple(judged), doubts)
    return replace(found, out_of_reach=untestable)


def _doubts(
    claim: Claim, judged: Sequence[JudgedCriterion], used: list[GroupDoubts]
) -> tuple[ClaimDoubt, ...]:
    """Return the doubts about the trials that a claim rests on.

    Routers that need not wait for CPUs are faster. That undermines no verdict that they are fast
    enough. What a program computes is the same on any machine, so no doubt undermines that.
    """
    events = {criterion.event for criterion in claim.criteria}
    event = events.pop() if len(events) == 1 else None
    found = joined(used, event)
    if _all(judged) and all(criterion.would_be_shorter() for criterion in claim.criteria):
        found = tuple(
            replace(each, undermines=False) if each.kind == CPU_BOUND else each for each in found
        )
    if claim.about and set(claim.about) <= WITHOUT_CLOCK:
        found = tuple(replace(each, undermines=False) for each in found)
    return found


def _verdict(
    verdicts: Mapping[Stand, Verdict],
    judged: list[JudgedCriterion],
    doubts: Sequence[ClaimDoubt],
    out_of_reach: str,
) -> tuple[Verdict, str, list[JudgedCriterion]]:
    """Return the verdict with its reason, and the criteria as they are told with it."""
    stand = _all(judged)
    verdict = verdicts[stand]
    if out_of_reach:
        # More trials on the same machine would not help.
        judged = [replace(each, needed="") for each in judged]
        why = f"{out_of_reach}; as measured here it {WOULD[verdict]}: {_whys(judged)}"
        return "not testable here", why, judged
    undermining = [doubt.text for doubt in doubts if doubt.undermines]
    if stand is not None and undermining:
        left = f"{WOULD[verdict]}, but left open: {', '.join(undermining)}"
        return "open", f"{_whys(judged)}; {left}", judged
    return verdict, _whys(judged), judged


def _finding(
    claim: Claim,
    verdict: Verdict,
    why: str,
    judged: tuple[JudgedCriterion, ...],
    doubts: tuple[ClaimDoubt, ...],
) -> Finding:
    source = claim.source
    return Finding(
        id=claim.id,
        text=claim.text,
        place=source.text,
        verdict=verdict,
        why=why,
        sentence=source.sentence,
        criteria=judged,
        doubts=doubts,
        own=claim.own,
        published_in=claim.published_in,
    )


def _judged(criterion: Criterion, scenarios: Sequence[ObservedScenario]) -> JudgedCriterion:
    """Return a judged criterion; at least one of its scenarios can decide."""
    counted = [each for each in scenarios if not each.aside]
    rule, effects = criterion.rule, [each.effect for each in counted]
    stand = rule.decide(effects)
    deciding = _deciding(rule, counted)
    return JudgedCriterion(
        quantity=criterion.quantity,
        unit=criterion.unit,
        rule=rule_in_words(rule, criterion.unit),
        bounds=(rule.least, rule.most),
        stand=stand,
        deciding=_scenario(rule, deciding, len(counted)),
        scenarios=tuple(_scenario(rule, each, len(counted)) for each in scenarios),
        needed=_needed(criterion, counted) if stand is None else "",
        is_difference=criterion.is_difference,
    )


def _scenario(rule: Rule, observed: ObservedScenario, among: int) -> Scenario:
    return Scenario(
        name=observed.name,
        effect=observed.effect.value,
        interval=observed.effect.interval,
        published=observed.published,
        stand=rule.stand(observed.effect, among),
        words=observed.words,
        aside=observed.aside,
    )


def _deciding(rule: Rule, counted: Sequence[ObservedScenario]) -> ObservedScenario:
    """Return the scenario that the verdict rests on: its own stand is that of the criterion."""
    n = len(counted)
    ordered = sorted(counted, key=lambda each: rule.support(each.effect, n))
    return {"every": ordered[0], "most": ordered[(n - 1) // 2], "some": ordered[-1]}[rule.scenarios]


def _needed(criterion: Criterion, counted: Sequence[ObservedScenario]) -> str:
    """Return how many more trials would decide, in words, from the intervals of those measured."""
    rule = criterion.rule
    undecided = [each.effect for each in counted if rule.stand(each.effect, len(counted)) is None]
    if any(math.isinf(end) for effect in undecided for end in effect.interval):
        return "there are too few independent packets for an interval"
    factors = [(rule.more_data(effect), effect) for effect in undecided]
    known = [(factor, effect) for factor, effect in factors if factor is not None]
    if not known:
        return "no number of trials would tell: the effect is at the limit"
    choose = min if rule.scenarios == "some" else max
    factor, effect = choose(known, key=lambda each: each[0])
    if factor > MOST_TIMES:
        away, half = (
            amount(value, criterion.unit) for value in (rule.distance(effect), half_width(effect))
        )
        return (
            f"over {MOST_TIMES} times as many trials would be needed: the effect is {away} from "
            f"the limit, and known to ± {half} only"
        )
    return f"about {max(2, round(factor + 0.5))} times as many trials are needed to decide"


def _all(judged: Sequence[JudgedCriterion]) -> Stand:
    stands = [each.stand for each in judged]
    if False in stands:
        return False
    return None if None in stands else True


def _whys(judged: Sequence[JudgedCriterion]) -> str:
    return ". ".join(_why(each) for each in judged)


def _why(judged: JudgedCriterion) -> str:
    scenarios = judged.scenarios
    if len(scenarios) > LISTED:
        named = [each for each in scenarios if not each.aside]
        held = sum(each.stand is True for each in named)
        against = sum(each.stand is False for each in named)
        least = judged.deciding
        words = f"{least.name}: {least.words}" if least.words else least.name
        said = (
            f"of {len(named)} scenarios {held} keep the rule and {against} break it; "
            f"deciding is {words}"
        )
    else:
        parts = [_said(each) for each in scenarios]
        said = "; ".join(part for part in parts if part)
    return f"{said}; {judged.needed}" if judged.needed else said


def _said(scenario: Scenario) -> str:
    aside = " (aside)" if scenario.aside else ""
    return ": ".join(part for part in (f"{scenario.name}{aside}", scenario.words) if part)
