"""Controls of one claim: the worlds it is judged in, and the verdicts that must come out."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

import numpy as np

from delaylab_study.analysis.claims.claim import Claim
from delaylab_study.analysis.claims.imagined import CPUS, Design
from delaylab_study.analysis.claims.judge import judge
from delaylab_study.analysis.group import Group
from delaylab_study.papers.studies import find
from delaylab_study.study.order import plan_trials
from delaylab_study.study_file.load import load_study
from delaylab_study.verbs.foreseen import designs_of_trials
from tests.controls.world import Random

Kind = Literal["published", "false", "opposite"]
KINDS: tuple[Kind, ...] = ("published", "false", "opposite")
World = Callable[[Random], list[Group]]
Truth = TypeVar("Truth")
Only = tuple[tuple[str, tuple[str, ...]], ...]
"""The wanted levels of some factors."""
ERROR = 0.05
"""The largest share of draws in which a claim may be reproduced that is false."""
FEW = 20
"""The number of draws below which one false verdict may be chance. A single draw, which `make test`
has of each world, must have the right one: it is the same in each run."""
MISSED = 0.2
"""The largest share of draws in which a claim may not be decided that is true, or is opposite."""


@dataclass(frozen=True)
class Control:
    """The worlds of one claim.

    `published` is drawn from the paper's own numbers. In `false` the claim's sentence is false by a
    small amount, and `by` says what and how much: about 20 % of the effect or of its bound. In
    `opposite` the effect is the opposite one, or what the claim says to stay changes a lot.
    `design` is the study and the scale whose trials are drawn.
    """

    claim: Claim
    worlds: Mapping[Kind, World]
    by: str
    design: str = ""


@dataclass(frozen=True)
class Outcome:
    """Verdicts of one claim in one world, over seeded draws."""

    claim: str
    kind: Kind
    verdicts: Counter[str]

    @property
    def draws(self) -> int:
        """The number of draws."""
        return self.verdicts.total()

    def share(self, verdict: str) -> float:
        """The share of draws with this verdict."""
        return self.verdicts[verdict] / self.draws

    @property
    def most_common(self) -> list[tuple[str, int]]:
        """The verdicts with their draws, the most frequent first, then by name."""
        return sorted(self.verdicts.items(), key=lambda each: (-each[1], each[0]))


def outcomes(control: Control, draws: int, seed: int = 1) -> list[Outcome]:
    """Judge a claim in each of its worlds, `draws` times."""
    return [
        Outcome(control.claim.id, kind, _verdicts(control.claim, world, draws, seed))
        for kind, world in control.worlds.items()
    ]


def _verdicts(claim: Claim, world: World, draws: int, seed: int) -> Counter[str]:
    return Counter(judge(claim, _drawn(world, seed, draw)).verdict for draw in range(draws))


@functools.lru_cache(maxsize=16)
def _drawn(world: World, seed: int, draw: int) -> list[Group]:
    """Return a draw of a world. Claims of a paper are judged in one published world, one by one."""
    return world(np.random.default_rng([seed, draw]))


def failures(control: Control, found: Sequence[Outcome]) -> list[str]:
    """Return a line for each outcome of a control that is wrong."""
    wrong = []
    by_chance = 1 if 1 < max(each.draws for each in found) < FEW else 0
    for each in found:
        missed = each.draws - each.verdicts["reproduced"] - by_chance
        if each.kind == "published" and missed > MISSED * each.draws:
            wrong.append(f"{each.claim}: on the paper's numbers {dict(each.verdicts)}")
        false = each.verdicts["reproduced"] - by_chance * (each.kind == "false")
        if each.kind != "published" and false > ERROR * each.draws:
            wrong.append(f"{each.claim}: {each.kind} {dict(each.verdicts)}")
        if each.kind == "opposite" and each.share("contradicted") < 1 - MISSED:
            wrong.append(f"{each.claim}: opposite {dict(each.verdicts)}")
    return wrong


@functools.cache
def designs_as_run(study: str, scale: str, only: Only = ()) -> tuple[Design, ...]:
    """Return the designs of a study as it runs at a scale: all of its levels, packets and repeats.

    Each machine has enough CPUs, and virtual machines run on hardware. `only` has the wanted levels
    of some factors.
    """
    planned = plan_trials(load_study(find(study)), scale, {name: set(of) for name, of in only})
    return tuple(replace(each, cpus=CPUS) for each in designs_of_trials(planned, (), ()))


def as_run(
    study: str,
    drawn: Callable[[Truth, Design, Random], Group],
    scale: str = "quick",
    only: Only = (),
    beside: tuple[Design, ...] = (),
) -> Callable[[Truth], World]:
    """Return a function that makes the world of a truth: the trials of a study as it runs.

    `beside` are designs that the study does not have, for what no machine here can run.
    """

    def world(truth: Truth) -> World:
        return lambda random: [
            drawn(truth, design, random)
            for design in (*designs_as_run(study, scale, only), *beside)
        ]

    return world


def of_sentences(
    claims: Mapping[str, Claim],
    study: str,
    drawn: Callable[[Truth, Design, Random], Group],
    paper: Truth,
) -> Callable[..., Control]:
    """Return a function that makes the controls of a study's claims.

    It takes a claim's id, the truth of the world in which its sentence is false, by what and how
    much, and the truth of the opposite world. `paper` is the truth of the paper. `scale` is that
    of the trials: `paper` for a claim that the levels of scale quick cannot decide. With `only` the
    trials are those of some levels, which are all that the claim is measured on. `beside` are
    designs of what no machine here can run.
    """

    quick = as_run(study, drawn, "quick")(paper)

    def control(
        claim: str,
        false: Truth,
        by: str,
        opposite: Truth,
        *,
        scale: str = "quick",
        only: Only = (),
        beside: tuple[Design, ...] = (),
    ) -> Control:
        world = as_run(study, drawn, scale, only, beside)
        # One world for all claims: its draws are kept.
        published = quick if (scale, only, beside) == ("quick", (), ()) else world(paper)
        worlds = (published, world(false), world(opposite))
        said = f"{study}, {scale}{' and more' if beside else ''}"
        return Control(claims[claim], dict(zip(KINDS, worlds, strict=True)), by, said)

    return control
