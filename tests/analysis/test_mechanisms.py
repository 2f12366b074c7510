"""Nodes that lack what a claim is about do not decide it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from tools import mechanisms_table

from delaylab.api.kinds import FACTS, Mechanism, mechanisms_of
from delaylab_study.analysis.claims.claim import Claim, Criterion, Measured, Source
from delaylab_study.analysis.claims.finding import Finding
from delaylab_study.analysis.claims.imagined import Design, usual
from delaylab_study.analysis.claims.judge import judge
from delaylab_study.analysis.claims.rule import above
from delaylab_study.analysis.group import Group
from delaylab_study.analysis.statistics.effects import Effect

LARGE, SMALL = Effect(2.0, (1.5, 2.5)), Effect(0.2, (0.1, 0.3))
"""An effect that keeps the rule of the claim below, and one that breaks it."""


def judged(about: Sequence[Mechanism], *scenarios: tuple[str, Effect], **facts: bool) -> Finding:
    """The finding on a claim that wants an effect above 1, with one effect for each kind."""
    effects = dict(scenarios)

    def measure(groups: list[Group]) -> list[Measured]:
        return [Measured(group.kind, effects[group.kind], (group,)) for group in groups]

    claim = Claim(
        "a-claim",
        "Something is large.",
        Source("here"),
        (Criterion("an effect", "index", above(1), measure, "anything"),),
        about=about,
    )
    random = np.random.default_rng(1)
    groups = [
        usual(
            Design({"kind": kind}, kind, packets=40, emulated=facts.get("emulated", False)), random
        )
        for kind in effects
    ]
    return judge(claim, groups)


def test_a_namespace_does_not_decide_what_is_about_scheduling() -> None:
    found = judged(["scheduling"], ("netns", SMALL), ("uml", LARGE))
    assert found.verdict == "reproduced"
    assert {each.name: each.aside for each in found.criteria[0].scenarios} == {
        "netns": True,
        "uml": False,
    }


def test_without_fitting_nodes_a_claim_is_not_testable_and_shows_what_was_measured() -> None:
    found = judged(["scheduling"], ("netns", LARGE))
    assert found.verdict == "not testable here"
    assert found.effect == LARGE.value
    assert "a scheduler that gives CPUs to whole systems; here are netns" in found.why
    assert "would be reproduced" in found.why


def test_emulated_machines_decide_about_scheduling_and_not_about_speed() -> None:
    assert judged(["scheduling"], ("qemu", LARGE), emulated=True).verdict == "reproduced"
    size = judged(["scheduling", "speed"], ("qemu", LARGE), emulated=True)
    assert size.verdict == "not testable here"
    assert "here are qemu (emulated)" in size.why
    assert judged(["scheduling", "speed"], ("qemu", LARGE)).verdict == "reproduced"


def test_emulation_elsewhere_does_not_take_the_speed_of_a_namespace() -> None:
    assert judged(["stack", "speed"], ("netns", LARGE), emulated=True).verdict == "reproduced"


@pytest.mark.parametrize("kind", FACTS)
def test_emulation_takes_nothing_from_kinds_that_are_never_emulated(kind: str) -> None:
    emulated, real = mechanisms_of(kind, emulated=True), mechanisms_of(kind, emulated=False)
    assert (emulated == real) is not FACTS[kind].emulated


def test_the_page_on_kinds_has_the_mechanisms_of_each() -> None:
    page = mechanisms_table.PAGE.read_text()
    assert mechanisms_table.table() in page, "run `make docs`: the table of mechanisms is stale"
