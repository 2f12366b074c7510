"""A narrow terminal folds tables; it drops no column, no group and no cell."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from delaylab_study.analysis.analyse import groups
from delaylab_study.charts import words
from delaylab_study.dataset.store import read_study
from delaylab_study.papers.findings import findings
from delaylab_study.report.arrange import tail, usual
from delaylab_study.report.rich_parts import in_terminal
from delaylab_study.report.sections import links
from delaylab_study.report.sections.section import Report
from delaylab_study.report.value import Block, Column, Section, Table
from delaylab_study.report.written import plain
from delaylab_study.verbs.datasets import show
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
    (table,) = tables(links.section(Report(study, list(groups(study)))))
    (row,) = table.shown(table.rows[:1], "page")
    cells = {column.head: plain(cell.words) for column, cell in row}
    assert len(cells) == 9
    wanted = ["link", "trials", "configured, one way", "verdict"]
    wanted += ["late, p50 / p99", "probe, p50 / p99"]
    words_of = [word for head in wanted for word in cells[head].split()]
    assert len(words_of) > 20
    assert [word for word in words_of if word not in said] == []


def tables(section: Section) -> list[Table]:
    blocks = [part for part in section.page if isinstance(part, Block)]
    return [part for block in blocks for part in block.parts if isinstance(part, Table)]


def test_lost_packets_are_those_of_the_phase_that_n_counts(tmp_path: Path) -> None:
    """Two packets are lost at rest and one under load, of which n counts the answered ones."""
    lost = {1: ("request", "wire"), 3: ("request", "wire"), 25: ("request", "wire")}
    condition = Condition(packets=50, at_rest=10, lost_after=lost)
    assert "n 49, lost 1" in printed(synthetic.write(tmp_path, [condition]), 80)


def test_words_in_brackets_are_printed_as_they_are() -> None:
    """A program may be named so; rich takes such words for a style."""
    columns = (Column("[b] head", "label"), Column("count"))
    table = Table(columns, [["[cpu] twice", "2"]], "[i] title", "[red] caption")
    console = Console(file=io.StringIO(), width=80)
    for part in in_terminal(Section("", [table]), 80):
        console.print(part)
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    for said in ("[b] head", "[cpu] twice", "[i] title", "[red] caption"):
        assert said in text
