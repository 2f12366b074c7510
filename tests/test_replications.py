"""docs/replications.md says what the findings of datasets say, and nothing else."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
from tools import kept_findings, replications_page

from delaylab_study.analysis.analyse import groups
from delaylab_study.analysis.statistics.effects import Effect
from delaylab_study.charts import words
from delaylab_study.dataset.store import read_study
from delaylab_study.papers.findings import findings
from tests import synthetic
from tests.synthetic import Condition, constant

KEPT = sorted(kept_findings.KEPT.glob("*"))
MOST_BYTES = 200_000
CLAIMS = ["network-adds-most", "kernel-closer-than-user", "xen-bimodal"]


def test_the_page_has_every_finding_with_its_scenarios(tmp_path: Path) -> None:
    place = _dataset(tmp_path)
    study = read_study(place)
    found = {each.id: each for each in findings(study, list(groups(study)))}
    kept = kept_findings.kept(place)
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "one.json").write_text(kept.model_dump_json())
    page = replications_page.page(tmp_path / "kept")
    verdicts = {found["network-adds-most"].verdict, found["xen-bimodal"].verdict}
    assert verdicts == {"reproduced", "not testable here"}
    for name in CLAIMS:
        assert f"### {name}: {found[name].verdict}" in page
        assert f"| [{name}](claims.md#{name}) | {found[name].verdict} | " in page
        for criterion in found[name].criteria:
            for scenario in criterion.scenarios:
                effect = words.with_interval(scenario.effect, scenario.interval, criterion.unit)
                assert f"| {scenario.name} | {effect} | " in page
    assert found["xen-bimodal"].why in page


def test_the_page_in_the_docs_is_made_from_what_is_kept_there() -> None:
    assert replications_page.PAGE.read_text() == replications_page.page()


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_each_verdict_is_derived_again_from_the_numbers_that_are_kept(path: Path) -> None:
    assert path.stat().st_size <= MOST_BYTES
    study = kept_findings.KeptStudy.model_validate_json(path.read_text())
    of_that_day = {each.id: each.verdict for each in study.claims}
    derived = {each.id: each.finding for each in kept_findings.shown(study) if each.finding}
    assert {name: of_that_day[name] for name in derived} == {
        name: found.verdict for name, found in derived.items()
    }


def test_a_verdict_follows_the_numbers_that_are_kept(tmp_path: Path) -> None:
    """Numbers that break the rule give another verdict than that of the day of the run."""
    study = _kept(tmp_path)
    claim = next(each for each in study.claims if each.id == CLAIMS[0])
    opposite = [
        replace(each, effect=Effect(-each.effect.value, (-math.inf, -1.0)))
        for each in claim.observed.criteria[0].scenarios
    ]
    criteria = (replace(claim.observed.criteria[0], scenarios=tuple(opposite)),)
    changed = claim.model_copy(update={"observed": replace(claim.observed, criteria=criteria)})
    (before,) = kept_findings.shown(study.model_copy(update={"claims": (claim,)}))
    (after,) = kept_findings.shown(study.model_copy(update={"claims": (changed,)}))
    assert (before.verdict, after.verdict) == ("reproduced", "contradicted")


def test_what_is_kept_is_read_as_it_was_written(tmp_path: Path) -> None:
    study = _kept(tmp_path)
    assert kept_findings.KeptStudy.model_validate_json(study.model_dump_json()) == study


def test_a_verdict_by_an_earlier_rule_is_not_shown(tmp_path: Path) -> None:
    study = _kept(tmp_path)
    claim = study.claims[0]
    gone = claim.model_copy(update={"id": "no-claim-any-more"})
    changed = claim.model_copy(update={"rules": ("another",)})
    (shown,) = kept_findings.shown(study.model_copy(update={"claims": (changed, gone)}))
    assert (shown.id, shown.verdict, shown.finding) == (claim.id, kept_findings.EARLIER_RULE, None)


def _kept(tmp_path: Path) -> kept_findings.KeptStudy:
    return kept_findings.kept(_dataset(tmp_path))


def _dataset(tmp_path: Path) -> Path:
    slow = {("request", "sender.uplink"): constant(5000)}
    conditions = [Condition("native"), Condition("native", "network", delays=slow, seed=1)]
    return synthetic.write(tmp_path / "data", conditions, CLAIMS)
