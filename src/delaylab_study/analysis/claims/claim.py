"""Claims, as they are declared: where they stand, their quantities, and the rules that decide."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from delaylab.api.kinds import Mechanism
from delaylab_study.analysis.claims.rule import Rule
from delaylab_study.analysis.group import Group
from delaylab_study.analysis.statistics.effects import Effect

ENOUGH = 30
"""The smallest number of packets with which a group counts for a claim."""


class NotTestable(Exception):
    """The error for a claim about what the dataset lacks; the message says what is missing."""


@dataclass(frozen=True, slots=True)
class Source:
    """The place of a claim in its paper, and the paper's own sentence."""

    section: str
    sentence: str = ""
    figure: str = ""

    @property
    def text(self) -> str:
        """Return section and figure, joined for a reader."""
        return ", ".join(part for part in (self.section, self.figure) if part)


@dataclass(frozen=True, slots=True)
class Measured:
    """The effect in one scenario, and the groups that it was measured in.

    `words` is the observation in words. `published` is the paper's own value of the effect. With
    `aside`, the scenario is shown and does not decide: the paper did not have it, or does not claim
    it. `kinds` are those of the nodes that stand for the paper's systems; left out, the kinds of
    the groups' senders.
    """

    scenario: str
    effect: Effect
    groups: Sequence[Group]
    words: str = ""
    published: float | None = None
    aside: bool = False
    kinds: Sequence[str] = ()


Measure = Callable[[list[Group]], Iterable[Measured]]
"""A measure of a quantity: it returns the scenarios that groups of trials have."""


@dataclass(frozen=True, slots=True)
class Criterion:
    """One quantity of a claim, with the rule that its effects must keep.

    `quantity` says what the effect is an effect of, and what is compared with what. `unit` is
    `µs`, `share`, `times` or `index`. `measure` returns the scenarios that the data have, and
    `needs` says what the data lack where there are none. `event` is the number of the event, from 0
    on, that it is about times after; None for all else. `is_difference` is False for a value that
    is compared with nothing. `about` are the mechanisms that this quantity is about, if they are
    not the claim's.
    """

    quantity: str
    unit: str
    rule: Rule
    measure: Measure
    needs: str
    event: int | None = None
    is_difference: bool = True
    about: Sequence[Mechanism] | None = None

    def would_be_shorter(self) -> bool:
        """Return True if a shorter time would keep the rule as well."""
        return not self.is_difference and self.rule.least == -math.inf


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence, and the criteria that decide it: all must hold.

    `caveat` is added to the reason of a verdict other than `reproduced`: what else may explain it.
    `own` is True for a claim that a study declares itself: there is nothing to reproduce, so its
    verdicts are `holds` and `does not hold`. `published_in` is the source of its published value.
    `about` are the mechanisms that the sentence is about: nodes that lack one of them do not decide
    it (`mechanisms`).
    """

    id: str
    text: str
    source: Source
    criteria: Sequence[Criterion]
    caveat: str = ""
    own: bool = False
    published_in: str = ""
    about: Sequence[Mechanism] = ()
