"""A number that the packets do not carry is replaced by the reason, wherever it would stand."""

from __future__ import annotations

import io
from math import inf
from pathlib import Path

import pytest
from rich.console import Console

from delaylab_study.analysis.claims.claim import Claim, Criterion, Measured, Source
from delaylab_study.analysis.claims.judge import judge
from delaylab_study.analysis.claims.rule import above
from delaylab_study.analysis.statistics.effects import Effect
from delaylab_study.charts import words
from delaylab_study.report import show as numbers
from delaylab_study.report.html import write_report
from delaylab_study.report.sections import claims
from delaylab_study.verbs.datasets import show
from tests import synthetic
from tests.plain import plain
from tests.synthetic import Condition


def printed(place: Path) -> str:
    console = Console(file=io.StringIO(), width=100)
    show(console, place)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize(("packets", "tail"), [(200, "p90"), (1200, "p99")])
def test_tables_have_the_tail_that_the_packets_carry(
    tmp_path: Path, packets: int, tail: str
) -> None:
    synthetic.write(tmp_path, [Condition(packets=packets, seed=1)])
    assert f"delay per layer, median / {tail}" in printed(tmp_path)
    assert f": median, {tail}</h3>" in write_report(tmp_path).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("large", "small", "tail"),
    [(["native"], ["netns"], "p99"), (["native"], ["netns", "shared"], "p90")],
)
def test_all_parts_of_a_report_have_one_tail(
    tmp_path: Path, large: list[str], small: list[str], tail: str
) -> None:
    """Readers compare kinds side by side, so none has p90 where another has p99."""
    conditions = [Condition(kind, packets=1200, seed=seed) for seed, kind in enumerate(large)]
    conditions += [Condition(kind, packets=200, seed=seed) for seed, kind in enumerate(small, 7)]
    synthetic.write(tmp_path, conditions)
    kinds = len(conditions)
    other = {"p90": "p99", "p99": "p90"}[tail]
    terminal = printed(tmp_path)
    assert terminal.count(f"delay per layer, median / {tail}") == kinds
    assert f"median / {other}" not in terminal
    page = write_report(tmp_path).read_text(encoding="utf-8")
    assert page.count(f": median, {tail}</h3>") == kinds
    assert f": median, {other}" not in page
    drawings = sorted((tmp_path / "charts").glob("way-*.svg"))
    assert len(drawings) == kinds
    for drawing in drawings:
        svg = drawing.read_text(encoding="utf-8")
        assert f">bold: median; below: {tail}<" in svg
        assert ">segments: one way<" in svg


def test_json_says_why_a_quantile_is_missing(tmp_path: Path) -> None:
    synthetic.write(tmp_path, [Condition(packets=200, seed=1)])
    (trial,) = plain(numbers.as_json(tmp_path))["trials"]
    rtt = trial["rtt"]["app"]
    assert rtt["p99_us"] is None
    assert rtt["p99_us_interval"] is None
    assert rtt["refused"]["p99_us"].startswith("p99 needs 500 independent packets; there are 200")
    assert "median_us" not in rtt["refused"]
    assert 100 < rtt["n_effective"] <= 200


def test_an_effect_that_the_packets_do_not_carry_is_unknown() -> None:
    effect = Effect(12.0, (-inf, inf))
    assert words.shift(effect) == "+12.0 µs [unknown]"
    found = Measured("here", effect, (), "too few")
    criterion = Criterion("it", "share", above(0), lambda _: [found], "packets")
    finding = judge(Claim("a", "A.", Source("section 1"), (criterion,)), [])
    assert finding.verdict == "open"
    assert words.with_interval(finding.effect, finding.interval, finding.unit) == "1200 % [unknown]"
    assert claims._json(finding)["interval"] is None
