"""Emulated virtual machines decide no claim about machines that ran on hardware."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest

from delaylab.api.kinds import Mechanism
from delaylab_study.analysis.claims.claim import Claim, Criterion, Measured, Source
from delaylab_study.analysis.claims.finding import Finding
from delaylab_study.analysis.claims.groups import runs
from delaylab_study.analysis.claims.imagined import Design, group, lognormal
from delaylab_study.analysis.claims.judge import judge
from delaylab_study.analysis.claims.rule import below
from delaylab_study.analysis.group import Group
from delaylab_study.analysis.statistics.effects import estimate
from delaylab_study.papers import calls
from delaylab_study.papers.loading import claims
from delaylab_study.papers.paper import Paper

FAST_US, SLOW_US, LIMIT_US = 50.0, 500.0, 200.0


def _median(groups: list[Group]) -> Iterator[Measured]:
    for each in groups:
        values = runs(each, "app")
        if values is not None:
            effect = estimate([values], lambda series: np.median(series[0], axis=-1))
            yield Measured(each.kind, effect, (each,))


CLAIM = Claim(
    "fast",
    "All are fast.",
    Source("section 1"),
    (Criterion("median user RTT", "µs", below(LIMIT_US), _median, "packets"),),
)


def trials(kind: str, median_us: float, *, emulated: bool) -> Group:
    design = Design({"kind": kind}, kind, packets=200, trials=3, emulated=emulated)
    return group(design, {"app": lognormal(np.random.default_rng(1), 600, median_us)})


def said(*groups: Group, about: Sequence[Mechanism] = ("speed",)) -> Finding:
    return judge(replace(CLAIM, about=about), list(groups))


def test_emulated_machines_are_shown_and_do_not_decide_where_others_can() -> None:
    real, emulated = (
        trials("native", FAST_US, emulated=False),
        trials("qemu", SLOW_US, emulated=True),
    )
    found = said(real, emulated)
    assert found.verdict == "reproduced"
    assert [(each.name, each.aside) for each in found.criteria[0].scenarios] == [
        ("native", False),
        ("qemu", True),
    ]
    # The control: machines on hardware decide.
    assert said(real, trials("qemu", SLOW_US, emulated=False)).verdict == "contradicted"


@pytest.mark.parametrize("median_us", [FAST_US, SLOW_US])
def test_a_claim_that_only_emulated_machines_have_is_not_testable_here(median_us: float) -> None:
    """Its figures are shown: they are measured, and only the machine is the wrong one."""
    found = said(trials("qemu", median_us, emulated=True))
    assert found.verdict == "not testable here"
    would_be = "reproduced" if median_us < LIMIT_US else "contradicted"
    assert "here are qemu (emulated)" in found.why
    assert f"as measured here it would be {would_be}" in found.why
    assert "KVM" in found.why
    assert found.effect == pytest.approx(median_us, rel=0.1)


def test_no_number_of_trials_is_said_to_decide_what_emulated_machines_cannot() -> None:
    real, emulated = (trials("qemu", LIMIT_US, emulated=each) for each in (False, True))
    assert said(real).verdict == "open"
    assert said(real).criteria[0].needed
    assert not said(emulated).criteria[0].needed
    assert said(real).criteria[0].needed not in said(emulated).why


def test_emulated_machines_decide_a_claim_about_machines_as_they_are() -> None:
    emulated = trials("qemu", FAST_US, emulated=True)
    assert said(emulated, about=()).verdict == "reproduced"


def test_a_claim_without_mechanisms_is_about_the_speed_of_its_papers_machines() -> None:
    emulated = [trials("qemu", FAST_US, emulated=True)]
    verdicts = {
        on_hardware: calls.finding(
            Paper("fast", (CLAIM,), on_hardware=on_hardware), CLAIM, emulated
        ).verdict
        for on_hardware in (True, False)
    }
    assert verdicts == {True: "not testable here", False: "reproduced"}


def test_a_papers_claims_are_about_the_papers_machines() -> None:
    paper, claim = claims()["xen-bimodal"]
    assert paper.on_hardware
    assert paper.world is not None
    random = np.random.default_rng(1)
    real, emulated = (
        [
            paper.world(Design({"load": load}, "xen", load, 200, 3, emulated=emulated), random)
            for load in ("rest", "cpu", "io", "memory")
        ]
        for emulated in (False, True)
    )
    assert calls.finding(paper, claim, real).verdict == "reproduced"
    assert calls.finding(paper, claim, emulated).verdict == "not testable here"
