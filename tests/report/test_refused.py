"""A number that the packets do not carry is replaced by the reason, wherever it would stand."""

from __future__ import annotations

import csv
import io
import re
from math import inf
from pathlib import Path

import pytest
from rich.console import Console

from delaylab_study.analysis.claims.claim import Claim, Criterion, Measured, Source
from delaylab_study.analysis.claims.judge import judge
from delaylab_study.analysis.claims.rule import above
from delaylab_study.analysis.statistics.effects import Effect
from delaylab_study.analysis.statistics.needs import Needs
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
    assert rtt["needs"]["p99_us"] == {"packets": 500, "seconds": 2.5}  # an interval of 5 ms
    assert "median_us" not in rtt["needs"]
    assert 100 < rtt["n_effective"] <= 200


def test_a_refused_cell_says_how_many_packets_it_needs_and_how_long_they_take(
    tmp_path: Path,
) -> None:
    wait = {("request", "wire"): synthetic.queue(900)}
    synthetic.write(tmp_path, [Condition(packets=600, delays=wait, seed=1)])
    table = csv.DictReader(io.StringIO(numbers.table_csv(tmp_path, "rtt").decode()))
    (app,) = [row for row in table if row["point"] == "app"]
    needs = Needs(int(app["p99_us_needs_packets"]), float(app["p99_us_needs_s"]))
    assert needs.packets > 600  # They wait in one queue, and are worth fewer than they are.
    assert needs.seconds == pytest.approx(needs.packets * 0.005)
    assert f"p99 of the user RTT {needs.words}." in " ".join(printed(tmp_path).split())
    (segment,) = {
        row["p99_us_needs_packets"]
        for row in csv.DictReader(io.StringIO(numbers.table_csv(tmp_path, "delays").decode()))
        if row["to"] == "wire" and row["leg"] == "request"
    }
    page = write_report(tmp_path).read_text(encoding="utf-8")
    assert f">needs {segment} (" in page
    assert f"p99 needs about {segment} packets (" in page  # where one points at a cell


def test_cells_of_the_tail_in_a_terminal_say_what_they_need(tmp_path: Path) -> None:
    synthetic.write(tmp_path, [Condition(packets=40, seed=1)])
    assert re.search(r"µs / needs 5\d \(0\.3 s\)", printed(tmp_path))


def test_a_closed_loop_takes_as_long_as_it_took(tmp_path: Path) -> None:
    synthetic.write(tmp_path, [Condition(packets=100, timeout_ns=10**9, seed=1)])
    (trial,) = plain(numbers.as_json(tmp_path))["trials"]
    needs = trial["rtt"]["app"]["needs"]["p99_us"]
    assert needs["seconds"] == pytest.approx(needs["packets"] * 0.005)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.29, "0.3 s"), (5, "5 s"), (100, "100 s"), (600, "10 min"), (9000, "2 h"), (4e5, "5 days")],
)
def test_times_of_packets_have_few_figures(seconds: float, words: str) -> None:
    assert Needs(500, seconds).words == f"needs about 500 packets ({words})"
    assert Needs(500, None).short == "needs 500"


def test_an_effect_that_the_packets_do_not_carry_is_unknown() -> None:
    effect = Effect(12.0, (-inf, inf))
    assert words.shift(effect) == "+12.0 µs [unknown]"
    found = Measured("here", effect, (), "too few")
    criterion = Criterion("it", "share", above(0), lambda _: [found], "packets")
    finding = judge(Claim("a", "A.", Source("section 1"), (criterion,)), [])
    assert finding.verdict == "open"
    assert words.with_interval(finding.effect, finding.interval, finding.unit) == "1200 % [unknown]"
    assert claims._json(finding)["interval"] is None
