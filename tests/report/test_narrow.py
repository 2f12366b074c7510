"""A narrow terminal folds tables; it drops no column, no group and no cell."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from delaylab.analysis.analyse import groups
from delaylab.analysis.group import Group
from delaylab.charts import words
from delaylab.dataset.store import read_study
from delaylab.papers.findings import findings
from delaylab.report.arrange import tail, usual
from delaylab.report.sections.links import DirectionRow, links
from delaylab.verbs.datasets import show
from tests import synthetic
from tests.report import cases
from tests.synthetic import Condition, hops

WIDTHS = (60, 72, 80, 99, 120)
LOADS = ("rest", "cpu", "io", "disk", "network")


def printed(place: Path, width: int) -> str:
    console = Console(file=io.StringIO(), width=width)
    show(console, place)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    over = hops("probe", "first", "second", "echo")
    conditions = [
        Condition(load=load, packets=200, hops=over, seed=index) for index, load in enumerate(LOADS)
    ]
    return synthetic.write(tmp_path_factory.mktemp("run"), conditions)


@pytest.mark.parametrize("width", WIDTHS)
def test_every_cell_of_every_group_is_there(place: Path, width: int) -> None:
    text = printed(place, width)
    assert max(len(line) for line in text.splitlines()) <= width
    assert "…" not in text
    cells = re.findall(r"[\d.]+ [µm]s / [\d.]+ [µm]s", text)
    found = list(groups(read_study(place)))
    expected = [
        f"{words.quantile(delay.median)} / {words.quantile(delay.tail(tail(found)))}"
        for group in found
        for delay in [
            *(part.delay for part in usual(group)),
            *(group.rtt[name] for name in ("app", "stack") if name in group.rtt),
        ]
    ]
    assert sorted(cells) == sorted(expected)
    heads = re.findall(r"┃ +(\w+)(?= +┃)", text)
    assert {load for load in LOADS if load not in heads} == set()


@pytest.mark.parametrize("width", WIDTHS)
def test_claims_and_links_keep_all_that_they_say(tmp_path: Path, width: int) -> None:
    text = printed(cases.write(tmp_path), width)
    assert max(len(line) for line in text.splitlines()) <= width
    said = set(re.split(r"[\s│┃]+", text))
    study = read_study(tmp_path / "run")
    for finding in findings(study, list(groups(study))):
        effect = words.with_interval(finding.effect, finding.interval, finding.unit)
        shown = f"{finding.verdict} {finding.text} {finding.why} {effect}"
        assert [word for word in shown.split() if word not in said] == []
    (row, *_) = carried(list(groups(study)))
    shown = f"{row.link} {row.trials} {row.configured} {row.late} {row.probe} {row.verdict}"
    assert [word for word in shown.split() if word not in said] == []


def carried(found: list[Group]) -> list[DirectionRow]:
    section = links(found)
    assert section is not None
    return section.rows


def test_lost_packets_are_those_of_the_phase_that_n_counts(tmp_path: Path) -> None:
    """Two packets are lost at rest and one under load, of which n counts the answered ones."""
    lost = {1: ("request", "wire"), 3: ("request", "wire"), 25: ("request", "wire")}
    condition = Condition(packets=50, at_rest=10, lost_after=lost)
    assert "n 49, lost 1" in printed(synthetic.write(tmp_path, [condition]), 80)
