"""Claims of one's own in a study file: read, checked, and judged as those of papers are."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from delaylab.errors import BadInput
from delaylab_study.analysis.claims.judge import judge
from delaylab_study.analysis.claims.own import COLUMNS, claim_of
from delaylab_study.analysis.group import Group
from delaylab_study.study_file.claims import ClaimSpec, Limit
from delaylab_study.study_file.load import load_study
from tests.controls.world import group, lognormal
from tests.grouped import of_packets

STUDY = """\
study: mine
lab:
  lab: mine
  nodes: {{a: {{}}, b: {{}}}}
  links: [{{between: [a, b], name: wire}}]
factors:
  environment:
    docker: {{nodes.a.kind: netns}}
    native: {{nodes.a.kind: netns}}
  load: {{rest: [], cpu: [{{cpu: 1, on: b}}]}}
probe: {{from: a, to: b}}
claims:
  - {claim}
"""
COSTS = (
    "{claim: container-costs-little, of: rtt.app, group: {environment: docker}, "
    "against: {environment: native}, median: {less-than: +50us}}"
)


def world(docker_us: float, lost: int = 0) -> list[Group]:
    found: list[Group] = []
    for environment, us in (("docker", docker_us), ("native", 100.0)):
        for load in ("rest", "cpu"):
            values = lognormal(np.random.default_rng(len(found)), 400, us, 1.3 * us)
            found.append(
                group(
                    {"environment": environment, "load": load},
                    delays={"app": values[: 400 - (lost if environment == "docker" else 0)]},
                    sent=400,
                    summarised=True,
                )
            )
    return found


def spec(text: str, tmp_path: Path) -> ClaimSpec:
    path = tmp_path / "mine.yaml"
    path.write_text(STUDY.format(claim=text))
    (claim,) = load_study(path).spec.claims
    assert isinstance(claim, ClaimSpec)
    return claim


@pytest.mark.parametrize(
    ("docker_us", "verdict"), [(120.0, "holds"), (250.0, "does not hold"), (150.0, "open")]
)
def test_a_difference_is_judged_like_a_papers(
    tmp_path: Path, docker_us: float, verdict: str
) -> None:
    found = judge(claim_of(spec(COSTS, tmp_path)), world(docker_us))
    assert found.verdict == verdict
    assert found.effect == pytest.approx(docker_us - 100, abs=6)
    assert found.unit == "µs"
    assert [each.name for each in found.criteria[0].scenarios] == ["load=rest", "load=cpu"]
    assert found.rule == "below 50.0 µs in every scenario"


@pytest.mark.parametrize(
    ("limits", "verdict"),
    [
        ("median: {at-most: 10%}", "does not hold"),
        ("median: {at-most: 30%}", "holds"),
        ("p90: {at-most: 1.5x}", "holds"),
        ("mean: {at-least: 1.1x, at-most: 1.3x}", "holds"),
        ("median: {more-than: +10us, less-than: +15us}", "does not hold"),
    ],
)
def test_limits_are_times_shares_or_multiples(tmp_path: Path, limits: str, verdict: str) -> None:
    text = COSTS.replace("median: {less-than: +50us}", limits)
    assert judge(claim_of(spec(text, tmp_path)), world(120)).verdict == verdict


@pytest.mark.parametrize(
    ("text", "lost", "verdict"),
    [
        ("{claim: few-lost, of: lost, share: {at-most: 1%}}", 0, "holds"),
        ("{claim: few-lost, of: lost, share: {at-most: 1%}}", 40, "does not hold"),
        (
            "{claim: more, of: lost, group: {environment: docker}, "
            "against: {environment: native}, share: {at-least: 5%}}",
            60,
            "holds",
        ),
        (
            "{claim: fewer, of: lost, group: {environment: native}, "
            "against: {environment: docker}, share: {less-than: 0.5x}}",
            60,
            "holds",
        ),
    ],
)
def test_losses_are_shares_of_what_was_sent(
    tmp_path: Path, text: str, lost: int, verdict: str
) -> None:
    assert judge(claim_of(spec(text, tmp_path)), world(100, lost)).verdict == verdict


def test_without_its_groups_a_claim_says_what_it_needs(tmp_path: Path) -> None:
    found = judge(claim_of(spec(COSTS, tmp_path)), world(100)[:2])
    assert found.verdict == "not testable here"
    assert "environment=docker and alike with environment=native" in found.why


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (COSTS.replace("environment: docker", "place: docker"), "no factor 'place'"),
        (COSTS.replace("environment: native", "environment: xen"), "no level 'xen'"),
        (COSTS.replace("+50us", "50"), "expected a time (+50us), a share (20%), or a multiple"),
        (COSTS.replace("median: {less-than: +50us}", ""), "here: none"),
        (COSTS.replace("rtt.app", "rtt.moon"), "rtt.moon"),
        (COSTS.replace("less-than: +50us", "less-than: +50us, at-most: 1us"), "exclude"),
        (COSTS.replace("less-than: +50us", "less-than: +50us, at-least: 2x"), "one unit"),
        ("{claim: few, of: lost, median: {at-most: 1%}}", "takes `share`"),
        ("{claim: few, of: rtt.app, median: {at-most: 1%}}", "without `against`"),
        (f"{COSTS}\n  - {COSTS}", "two claims are named"),
    ],
)
def test_a_claim_that_makes_no_sense_is_refused_with_its_line(
    tmp_path: Path, text: str, said: str
) -> None:
    with pytest.raises(BadInput) as error:
        spec(text, tmp_path)
    assert said in str(error.value)
    assert "mine.yaml:1" in error.value.where


def test_every_quantity_of_a_study_file_is_a_column_of_the_samples() -> None:
    drawn = group({}, delays={"app": lognormal(np.random.default_rng(1), 40, 1.0)})
    known = of_packets(drawn).samples.columns
    assert set(COLUMNS.values()) <= set(known)


@given(st.text(max_size=12))
def test_any_text_is_a_limit_or_refused(text: str) -> None:
    with suppress(ValueError):
        assert str(Limit.parse(text)) == text.strip()


@given(st.integers(-10_000, 10_000))
def test_a_limit_is_read_back_as_it_was_written(us: int) -> None:
    assert Limit.parse(f"{us}us").value == us
    assert Limit.parse(f"{us}%").value == pytest.approx(us / 100)


def test_a_p99_is_refused_as_in_tables_with_what_it_takes(tmp_path: Path) -> None:
    text = "{claim: tail, of: rtt.app, group: {load: cpu}, p99: {less-than: 5ms}}"
    finding = judge(claim_of(spec(text, tmp_path)), world(110))
    assert (finding.verdict, finding.effect) == ("open", None)
    assert "p99 needs 500 independent packets; there are 400" in finding.why
