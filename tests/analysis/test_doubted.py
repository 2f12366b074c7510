"""A verdict carries the doubts about its trials, and is open where they undermine it."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from delaylab.records.doubts import Doubt, DoubtKind
from delaylab_study.analysis.analyse import groups
from delaylab_study.analysis.claims.claim import Claim, Criterion, Measured, Source
from delaylab_study.analysis.claims.finding import Finding
from delaylab_study.analysis.claims.groups import pick, samples
from delaylab_study.analysis.claims.judge import judge
from delaylab_study.analysis.claims.rule import above
from delaylab_study.analysis.group import Group
from delaylab_study.analysis.statistics.effects import Effect, shift
from delaylab_study.dataset.store import read_study
from delaylab_study.report.html import write_report
from delaylab_study.report.show import as_json
from delaylab_study.verbs.datasets import show
from tests import synthetic
from tests.plain import plain as as_script
from tests.synthetic import Condition, constant

CLAIM = "network-adds-most"
SLOW = {("request", "sender.uplink"): constant(5000)}


def doubt(kind: str) -> list[dict[str, str]]:
    return [{"kind": kind, "message": "as the trial saw it", "remedy": "run it again"}]


def conditions(kind: str, doubted: int) -> list[Condition]:
    """Return eight trials under which the claim holds; the first ones are doubted."""
    loads = [(load, repeat) for load in ("rest", "network") for repeat in (1, 2, 3, 4)]
    return [
        Condition(
            load=load,
            repeat=repeat,
            packets=60,
            delays=SLOW if load == "network" else {},
            warnings=doubt(kind) if index < doubted else [],
            seed=index,
        )
        for index, (load, repeat) in enumerate(loads)
    ]


def found(place: Path, kind: str, doubted: int) -> Finding:
    study = read_study(synthetic.write(place, conditions(kind, doubted), [CLAIM]))
    return judge(SLOWER, list(groups(study)))


def _slower(given: list[Group]) -> Iterator[Measured]:
    for slow in pick(given, load="network"):
        for fast in pick(given, load="rest"):
            ours, theirs = samples(slow, "app"), samples(fast, "app")
            assert ours is not None
            assert theirs is not None
            yield Measured("here", shift(ours, theirs), (slow, fast), "it is slower")


SLOWER = Claim(CLAIM, "", Source(""), (Criterion("", "µs", above(0), _slower, "both loads"),))


@pytest.mark.parametrize("kind", ["not-at-rest", "stolen-time", "clock-step"])
def test_a_verdict_is_open_from_over_a_quarter_of_doubted_trials_on(
    tmp_path: Path, kind: str
) -> None:
    few = found(tmp_path / "few", kind, 2)
    assert (few.verdict, few.why) == ("reproduced", "here: it is slower")
    assert [(each.kind, each.trials, each.of) for each in few.doubts] == [(kind, 2, 8)]
    many = found(tmp_path / "many", kind, 3)
    assert many.verdict == "open"
    said = f"here: it is slower; would be reproduced, but left open: {kind} in 3 of 8 trials"
    assert many.why == said


def test_a_doubt_about_one_value_is_named_and_leaves_the_verdict(tmp_path: Path) -> None:
    finding = found(tmp_path, "link-not-held", 8)
    assert finding.verdict == "reproduced"
    (named,) = finding.doubts
    assert named.text == "link-not-held in 8 of 8 trials"
    assert not named.undermines


def test_a_doubt_that_the_analysis_finds_concerns_all_trials_of_its_group(tmp_path: Path) -> None:
    study = read_study(synthetic.write(tmp_path, conditions("", 0), [CLAIM]))
    rest, network = groups(study)
    seen = Doubt(kind=DoubtKind.NOT_AT_REST, message="busy", remedy="wait")
    finding = judge(SLOWER, [replace(rest, doubts=[seen]), network])
    assert finding.verdict == "open"
    assert finding.doubts[0].text == "not-at-rest in 4 of 8 trials"
    of_one = seen.model_copy(update={"values": {"trial": rest.trials[0].id}})
    finding = judge(SLOWER, [replace(rest, doubts=[of_one]), network])
    assert finding.doubts[0].text == "not-at-rest in 1 of 8 trials"


def test_only_the_trials_count_that_an_effect_was_measured_in(tmp_path: Path) -> None:
    study = read_study(synthetic.write(tmp_path, conditions("not-at-rest", 4), [CLAIM]))

    def of_network(given: list[Group]) -> Iterator[Measured]:
        for group in pick(given, load="network"):
            yield Measured("here", Effect(1, (1, 1)), (group,))

    claim = Claim(CLAIM, "", Source(""), (Criterion("", "µs", above(0), of_network, "it"),))
    finding = judge(claim, list(groups(study)))
    assert (finding.verdict, finding.doubts) == ("reproduced", ())


def test_a_claim_without_data_has_no_doubts(tmp_path: Path) -> None:
    study = read_study(synthetic.write(tmp_path, conditions("not-at-rest", 8), [CLAIM]))
    claim = Claim(CLAIM, "", Source(""), (Criterion("", "µs", above(0), lambda _: (), "more"),))
    finding = judge(claim, list(groups(study)))
    assert (finding.verdict, finding.why) == ("not testable here", "needs more")
    assert finding.doubts == ()


def test_every_form_of_the_report_names_the_doubts_of_a_verdict(tmp_path: Path) -> None:
    place = synthetic.write(tmp_path, conditions("not-at-rest", 8), [CLAIM])
    (claim,) = as_script(as_json(place))["claims"]
    assert claim["verdict"] == "open"
    expected = {"kind": "not-at-rest", "trials": 8, "of": 8, "undermines": True}
    assert claim["doubts"] == [expected]
    out = io.StringIO()
    show(Console(file=out, width=120), place)
    assert "? open" in out.getvalue()
    assert "doubts: not-at-rest in 8 of 8 trials" in out.getvalue()
    page = write_report(place).read_text(encoding="utf-8")
    assert '<div class="claim open">' in page
    assert "Doubts: not-at-rest in 8 of 8 trials" in page
    assert "<small>1 open</small>" in page
