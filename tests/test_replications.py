"""docs/replications.md says what the findings of datasets say, and nothing else."""

from __future__ import annotations

from pathlib import Path

from tools import kept_findings, replications_page

from delaylab_study.analysis.analyse import groups
from delaylab_study.charts import words
from delaylab_study.dataset.store import read_study
from delaylab_study.papers.findings import findings
from tests import synthetic
from tests.synthetic import Condition, constant

CLAIMS = ["network-adds-most", "kernel-closer-than-user", "xen-bimodal"]


def test_the_page_has_every_finding_with_its_scenarios(tmp_path: Path) -> None:
    slow = {("request", "sender.uplink"): constant(5000)}
    conditions = [Condition("native"), Condition("native", "network", delays=slow, seed=1)]
    place = synthetic.write(tmp_path / "data", conditions, CLAIMS)
    study = read_study(place)
    found = {each.id: each for each in findings(study, list(groups(study)))}
    kept = replications_page.kept(place)
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
    page, kept = replications_page.PAGE, kept_findings.KEPT
    assert page.exists() == kept.exists()
    assert not page.exists() or page.read_text() == replications_page.page()


def test_kept_verdicts_are_those_that_their_studies_can_give() -> None:
    """A kept verdict is one that the paper's own numbers show at the levels that ran."""
    before = kept_findings.KeptStudy.model_validate_json(
        (kept_findings.KEPT / "vem2006-routers.json").read_text()
    )
    untested, other = (
        next(each for each in before.claims if each.id == name)
        for name in ("engine-costs-little", "limits-cost-nothing")
    )
    as_kept_once = untested.model_copy(update={"verdict": "reproduced", "undecided_because": ""})
    once = before.model_copy(update={"claims": [as_kept_once, other]})
    found, same = replications_page.rejudged(once).claims
    assert found.verdict == "not testable here"
    # Routers in namespaces alone have both sorts of links at scale quick.
    assert "needs nodes with a kernel of their own on hardware" in found.undecided_because
    assert found.criteria == untested.criteria, "what was measured stays"
    assert same == other


def test_a_verdict_by_an_earlier_rule_is_not_shown(tmp_path: Path) -> None:
    kept = kept_findings.KEPT / "vem2006.json"
    study = kept_findings.KeptStudy.model_validate_json(kept.read_text())
    claim = next(each for each in study.claims if each.id == "loss-as-asked")
    other = [each.model_copy(update={"rule": "another"}) for each in claim.criteria]
    gone = claim.model_copy(update={"id": "no-claim-any-more"})
    changed = claim.model_copy(update={"criteria": other})
    (tmp_path / "one.json").write_text(
        study.model_copy(update={"claims": [changed, gone]}).model_dump_json()
    )
    (shown,) = kept_findings.read(tmp_path)[0].claims
    assert (shown.id, shown.verdict, shown.criteria) == (
        "loss-as-asked",
        kept_findings.EARLIER_RULE,
        [],
    )
