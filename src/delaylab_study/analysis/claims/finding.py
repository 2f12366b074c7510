"""Verdicts on claims, with all that they rest on."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Literal

from delaylab.api.records import DoubtKind
from delaylab_study.analysis.claims.doubted import ClaimDoubt
from delaylab_study.analysis.claims.rule import Stand
from delaylab_study.analysis.statistics.quantiles import Interval

Verdict = Literal[
    "reproduced", "contradicted", "holds", "does not hold", "open", "not testable here"
]
VERDICTS: dict[Stand, Verdict] = {True: "reproduced", False: "contradicted", None: "open"}
"""The verdicts on a paper's claims."""
OWN_VERDICTS: dict[Stand, Verdict] = {True: "holds", False: "does not hold", None: "open"}
"""The verdicts on claims that a study declares itself: there is nothing to reproduce."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """The effect in one scenario; `stand` is what it says of the claim.

    The effect is not a number if a tail quantile was refused; `words` then say why.

    `published` is the paper's own value of the effect, if there is a paper and it gives one.
    `aside` is True for a scenario that is shown and does not decide.
    """

    name: str
    effect: float
    interval: Interval
    published: float | None
    stand: Stand
    words: str
    aside: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedCriterion:
    """One criterion of a claim with its scenarios.

    `rule` is the rule in words, `bounds` are the least and the most that it allows.

    `deciding` is the scenario on which the verdict rests: the one that supports the claim least if
    all must hold, the one that supports it most if one is enough, the middle one if most must.
    """

    quantity: str
    unit: str
    rule: str
    bounds: Interval
    stand: Stand
    deciding: Scenario
    scenarios: tuple[Scenario, ...]
    needed: str = ""
    is_difference: bool = True


@dataclass(frozen=True, slots=True)
class Finding:
    """The verdict on a claim with its reason, and its criteria.

    `place` is where the claim stands: a section of its paper, or the study file. `sentence` is the
    paper's own. `doubts` are those about the trials that the verdict rests on. `own` is True if the
    study declares the claim itself; else `claimed_by` is the name of the paper that makes it.
    `published_in` is the source of the published value of a study's own claim.
    `out_of_reach` is the reason why the study cannot test a paper's claim at the levels and with
    the packets that it has, "" if it can. `after_data` is True if the claim was chosen when the
    data were there.
    """

    id: str
    text: str
    place: str
    verdict: Verdict
    why: str
    sentence: str = ""
    criteria: tuple[JudgedCriterion, ...] = ()
    doubts: tuple[ClaimDoubt, ...] = ()
    own: bool = False
    claimed_by: str = ""
    out_of_reach: str = ""
    after_data: bool = False
    published_in: str = ""

    @property
    def emulated(self) -> bool:
        """Return True if virtual machines were emulated in trials that the verdict rests on."""
        return any(doubt.kind == DoubtKind.EMULATED for doubt in self.doubts)

    @property
    def decisive(self) -> JudgedCriterion | None:
        """Return the criterion that decided: the first that failed, was open, or held."""
        for stand in (False, None, True):
            for criterion in self.criteria:
                if criterion.stand is stand:
                    return criterion
        return None

    @property
    def effect(self) -> float | None:
        """Return the effect in the deciding scenario, None if it was not measured or refused."""
        value = self.decisive.deciding.effect if self.decisive else None
        return value if value is None or isfinite(value) else None

    @property
    def interval(self) -> Interval | None:
        """Return the 95 % interval of the effect."""
        return self.decisive.deciding.interval if self.decisive else None

    @property
    def published(self) -> float | None:
        """Return the paper's own value of the effect, None if it gives none."""
        return self.decisive.deciding.published if self.decisive else None

    @property
    def unit(self) -> str:
        """Return the unit of the effect: `µs`, `share`, `times` or `index`."""
        return self.decisive.unit if self.decisive else ""

    @property
    def is_difference(self) -> bool:
        """Return True if the effect compares two things, and False if it is a value by itself."""
        return self.decisive is None or self.decisive.is_difference

    @property
    def of(self) -> str:
        """Return what the effect is an effect of."""
        return self.decisive.quantity if self.decisive else ""

    @property
    def rule(self) -> str:
        """Return the rule that decided, in words."""
        return self.decisive.rule if self.decisive else ""
