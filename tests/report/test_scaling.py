"""Scaling in the reports: law, residuals, prediction or its refusal, models called models."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pytest
from rich.console import Console

from delaylab.io.terminal import json_text
from delaylab_study.dataset.store import read_study
from delaylab_study.report.html import write_report
from delaylab_study.report.show import as_json
from delaylab_study.verbs.datasets import show
from tests import synthetic, unprobed
from tests.unprobed import Trial, job


def study(
    place: Path,
    times_s: Mapping[int, tuple[float, ...]],
    hosts: pl.DataFrame | None = None,
    **more: object,
) -> Path:
    """A study whose trials took these times, one for each repeat."""
    record = synthetic.hosts(40) if hosts is None else hosts
    trials = [
        Trial(
            [job(f"n-{at}", s, **more) for at in range(nodes)],
            {"nodes": str(nodes)},
            repeat,
            hosts=record,
        )
        for nodes, each in times_s.items()
        for repeat, s in enumerate(each, start=1)
    ]
    return unprobed.write(place, trials)


LINE = {1: (1.0, 1.02), 2: (2.0, 1.99), 4: (4.0, 4.05)}
SQUARE = {1: (1.0, 1.02), 2: (4.0, 3.99), 4: (16.0, 16.05)}


def printed(place: Path, width: int = 120) -> str:
    console = Console(file=io.StringIO(), width=width)
    show(console, place)
    assert isinstance(console.file, io.StringIO)
    return " ".join(console.file.getvalue().split())


@pytest.mark.parametrize("width", [60, 120])
def test_the_terminal_has_law_and_prediction(tmp_path: Path, width: int) -> None:
    text = printed(study(tmp_path, LINE), width)
    assert "Scaling of count" in text
    assert "Law: T(N) = " in text
    assert "4 machines like this one, with one node each, would take 1.01 s [" in text
    assert "T(4) / 4" in text
    assert text.count("Model:") == 2


def test_a_poor_fit_gives_no_number(tmp_path: Path) -> None:
    place = study(tmp_path, SQUARE)
    text = printed(place)
    assert "No prediction: poor fit" in text
    assert "would take" not in text
    (told,) = json.loads(json_text(as_json(read_study(place))))["scaling"]
    assert told["predicted"] is None
    assert told["refused"].startswith("poor fit")


def test_a_quota_is_called_a_model(tmp_path: Path) -> None:
    text = printed(study(tmp_path, LINE, quota=0.25))
    assert "stands for a slower machine is a model" in text
    assert "25 % of a CPU" in text


def test_json_has_all_figures(tmp_path: Path) -> None:
    (told,) = json.loads(json_text(as_json(read_study(study(tmp_path, LINE)))))["scaling"]
    assert told["times_s"] == pytest.approx([1.01, 1.995, 4.025])
    low, high = told["predicted"]["independent_s_interval"]
    assert low < told["predicted"]["independent_s"] < high
    assert len(told["residuals"]) == 3
    assert told["law"]["name"] == "line"


def test_the_page_has_a_drawing_of_each_series(tmp_path: Path) -> None:
    place = study(tmp_path, LINE)
    page = write_report(place).read_text(encoding="utf-8")
    assert '<section id="scaling">' in page
    assert (place / "charts" / "scaling-1-count.svg").exists()
    assert (place / "charts" / "scaling-1-count.png").exists()


def test_two_numbers_of_nodes_are_one_line_without_a_law(tmp_path: Path) -> None:
    place = study(tmp_path, {1: (1.0,), 2: (2.0,)})
    said = "No law: there are 2 numbers of nodes, and a law needs 3."
    text = printed(place)
    assert "Scaling of count: T(1) = 1.00 s, T(2) = 2.00 s (time until all nodes were done" in text
    assert said in text
    page = write_report(place).read_text(encoding="utf-8")
    assert said in page
    assert "<th>residual</th>" not in page
    assert not list((place / "charts").glob("scaling*"))


def test_a_study_of_one_number_of_nodes_has_none(tmp_path: Path) -> None:
    place = study(tmp_path, {2: (1.0, 1.1)})
    assert "Scaling" not in printed(place)
    assert '<section id="scaling">' not in write_report(place).read_text(encoding="utf-8")


def test_what_undermines_the_law_stands_with_it(tmp_path: Path) -> None:
    busy = synthetic.hosts(40, busy=0.9)
    place = study(tmp_path, LINE, hosts=busy)
    assert "In doubt: not-at-rest in 6 of 6 trials." in printed(place)
    (told,) = json.loads(json_text(as_json(read_study(place))))["scaling"]
    assert [each["kind"] for each in told["doubts"]] == ["not-at-rest"]
    assert "In doubt" not in printed(study(tmp_path / "quiet", LINE))


def test_the_rule_for_one_cpu_is_not_told_as_one_for_two(tmp_path: Path) -> None:
    two = {nodes: (max(1, nodes / 2), 1.01 * max(1, nodes / 2)) for nodes in (1, 2, 4, 8)}
    text = printed(study(tmp_path, two))
    assert "By the law 2.00 of them ran side by side" in text
    assert "side by side, so" not in printed(study(tmp_path / "one", LINE))
