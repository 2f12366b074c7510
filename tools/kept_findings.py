"""The findings of whole studies that docs/replications keeps, a file for each study.

A claim whose rule was changed since is to be measured again, so its verdict is not shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from delaylab.api.kinds import Mechanism
from delaylab_study.analysis.claims.claim import Claim
from delaylab_study.analysis.claims.words import rule_in_words
from delaylab_study.papers.loading import claims
from delaylab_study.papers.studies import find, names
from delaylab_study.study_file.load import load_study

KEPT = Path(__file__).parent.parent / "docs" / "replications"
EARLIER_RULE = "by an earlier rule"
BEYOND_NAMESPACES: frozenset[Mechanism] = frozenset({"scheduling", "forwarding", "card", "clock"})
"""Mechanisms that no node had which decided an older verdict."""
DECIDED = ("reproduced", "contradicted")


class KeptScenario(BaseModel):
    """The effect in one scenario, in words."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    effect: str
    published: str
    says: str


class KeptCriterion(BaseModel):
    """One quantity of a claim with its rule and its scenarios."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    quantity: str
    rule: str
    scenarios: list[KeptScenario]


class KeptClaim(BaseModel):
    """One finding, in words; `effect` is that of the scenario that decided.

    `undecided_because` says what leaves it undecided, or how many trials would decide it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    verdict: str
    effect: str
    published: str
    why: str
    undecided_because: str
    criteria: list[KeptCriterion]


class KeptStudy(BaseModel):
    """The findings of one study, with the machine and the command that made them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    study: str
    command: str
    machine: str
    created: str
    minutes: float
    trials: str
    claims: list[KeptClaim]


def read(kept_in: Path = KEPT) -> list[KeptStudy]:
    """Return the kept studies; verdicts by earlier rules say so."""
    studies = (
        KeptStudy.model_validate_json(path.read_text()) for path in sorted(kept_in.glob("*.json"))
    )
    return [
        study.model_copy(update={"claims": [*_as_of_now(study.claims, _own_of(study.study))]})
        for study in studies
    ]


def _own_of(study: str) -> frozenset[str]:
    """Return the claims that a study declares itself; none of a study that is not shipped."""
    if study not in names():
        return frozenset()
    wanted = load_study(find(study)).spec.claims
    return frozenset(each.claim for each in wanted if not isinstance(each, str))


def _as_of_now(kept: Sequence[KeptClaim], own: frozenset[str]) -> Iterator[KeptClaim]:
    """Yield findings on claims that still exist, without a verdict by an earlier rule."""
    known = claims()
    for each in kept:
        if each.id in own:
            yield each
        elif each.id in known:
            yield each if _still_judged_so(each, known[each.id][1]) else _without_verdict(each)


def _still_judged_so(kept: KeptClaim, claim: Claim) -> bool:
    # A claim without any measured criterion named what was missing, which may still be so.
    of_old = [(each.quantity, each.rule) for each in kept.criteria]
    of_now = [(each.quantity, rule_in_words(each.rule, each.unit)) for each in claim.criteria]
    beyond = kept.verdict in DECIDED and not BEYOND_NAMESPACES.isdisjoint(claim.about)
    return not beyond and (not of_old or of_old == of_now)


def _without_verdict(kept: KeptClaim) -> KeptClaim:
    return kept.model_copy(
        update={
            "verdict": EARLIER_RULE,
            "effect": "–",
            "published": "–",
            "undecided_because": "",
            "why": "the rule, or what it is about, was changed after this run",
            "criteria": [],
        }
    )
