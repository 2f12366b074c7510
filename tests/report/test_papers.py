"""Each paper's tables and figures, on datasets of its design."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from delaylab_papers.dantas2015 import paper as dantas2015
from delaylab_papers.dantas2015.figures import POINTS
from delaylab_papers.oliveira2022 import paper as oliveira2022
from delaylab_study.analysis.analyse import groups
from delaylab_study.analysis.claims.groups import number, pick
from delaylab_study.analysis.group import Group
from delaylab_study.charts import boxes
from delaylab_study.charts.tables import Table
from delaylab_study.dataset.store import read_study
from delaylab_study.report.html import write_report
from delaylab_study.report.show import as_json
from delaylab_study.verbs.datasets import show
from tests import synthetic
from tests.analysis import papers, test_dantas2015, test_oliveira2022
from tests.analysis.papers import Levels
from tests.plain import plain

FAR = ("responder.uplink", "responder.vif", "responder.stack")


@pytest.fixture(scope="module")
def dantas(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("dantas")
    return papers.write(place, "dantas2015", test_dantas2015.as_in_the_paper, points=FAR)


@pytest.fixture(scope="module")
def dantas_groups(dantas: Path) -> list[Group]:
    return list(groups(read_study(dantas)))


@pytest.fixture(scope="module")
def oliveira(tmp_path_factory: pytest.TempPathFactory) -> Path:
    def without_vmxnet3(levels: Levels) -> str | None:
        return "no driver" if levels["environment"] == "kvm-vmxnet3" else None

    place = tmp_path_factory.mktemp("oliveira")
    delays = test_oliveira2022.as_in_the_paper
    return papers.write(place, "oliveira2022", delays, without_vmxnet3)


@pytest.fixture(scope="module")
def oliveira_groups(oliveira: Path) -> list[Group]:
    return list(groups(read_study(oliveira)))


def by_title(tables: list[Table]) -> dict[str, Table]:
    return {table.title.partition(":")[0]: table for table in tables}


def test_dantas_table_2_stands_beside_the_papers(dantas_groups: list[Group]) -> None:
    table = by_title(dantas2015.PAPER.tables(dantas_groups))["Table II"]
    assert table.rows[0][:3] == ["1Hz", "e1000", "reserved"]
    assert len(table.rows) == 8
    here, paper = tuple(table.rows[0][5])
    assert paper == "721 µs"
    assert float(here.removesuffix(" µs")) == pytest.approx(790, abs=40)


def test_dantas_outliers_are_counted_at_seven_points(dantas_groups: list[Group]) -> None:
    table = by_title(dantas2015.PAPER.tables(dantas_groups))["Outliers by capture point"]
    assert [row[0] for row in table.rows] == list(POINTS.values())
    ping = dict(zip(table.head, table.rows[0], strict=True))
    assert ping["> 100 ms, cpu"] == "0"
    # `as_in_the_paper` adds 60 ms for each VM.
    slow = [group for group in pick(dantas_groups, load="network") if number(group, "vms") > 1]
    assert ping["> 100 ms, network"] == str(sum(group.answered for group in slow))
    nic = dict(zip(table.head, table.rows[3], strict=True))
    assert nic["> 100 ms, network"] == "0"


def assert_statistics_are_named(place: Path) -> None:
    """An exported drawing has no caption: the title of its axis says what is drawn."""
    drawn = {path.stem: path.read_text() for path in (place / "charts").glob("*.svg")}
    assert [name for name, text in drawn.items() if ">RTT (log)<" in text] == []
    assert [name for name, text in drawn.items() if re.search(">(median|mean) RTT", text)]


def test_dantas_page_has_its_figures(dantas: Path) -> None:
    page = write_report(dantas).read_text(encoding="utf-8")
    names = {path.stem for path in (dantas / "charts").glob("*.svg")}
    figures = {"rtt-by-vms-sender", "rtt-by-vms-receiver", "mean-rtt-by-point", "rtt-by-point"}
    assert figures <= names
    assert "rtt-per-load" not in names
    assert '<section id="tables">' in page
    assert '<section id="layers">' not in page
    assert_statistics_are_named(dantas)


def test_oliveira_overhead_is_a_row_for_every_scenario_measured(
    oliveira_groups: list[Group],
) -> None:
    table = by_title(oliveira2022.PAPER.tables(oliveira_groups))["RTT and virtualisation overhead"]
    assert len(table.rows) == len(oliveira_groups)
    rows = [dict(zip(table.head, row, strict=True)) for row in table.rows]
    virtio = next(r for r in rows if r["environment"] == "kvm-virtio" and r["vms"] == "0")
    # 90 µs at the card and five more segments of 5 µs each.
    assert float(str(virtio["overhead"]).removesuffix(" µs")) == pytest.approx(130, abs=12)
    assert "kvm-vmxnet3" not in {row["environment"] for row in rows}


def test_oliveira_outliers_stand_beside_the_papers(oliveira_groups: list[Group]) -> None:
    tables = oliveira2022.PAPER.tables(oliveira_groups)
    kvm = next(t for t in tables if t.title.endswith("KVM"))
    first = kvm.rows[0]
    assert first[:2] == ["network", "responder"]
    assert first[4][1] == "95.41 %"
    table3 = by_title(tables)["Table 3"]
    assert [row[0] for row in table3.rows] == ["off", "on"]
    assert table3.rows[0][6][1] == "26.32 %"


@pytest.mark.slow
def test_oliveira_page_has_its_figures(oliveira: Path) -> None:
    page = write_report(oliveira).read_text(encoding="utf-8")
    names = {path.stem for path in (oliveira / "charts").glob("*.svg")}
    technologies = {f"kendall-tau-{name}" for name in ("kvm", "lxc", "docker")}
    assert technologies | {"rtt-by-guests", "overhead-by-guests"} <= names
    assert_statistics_are_named(oliveira)
    assert "load: network" in (oliveira / "charts" / "kendall-tau-kvm.svg").read_text()
    assert page.count("no driver") >= 7
    assert not re.search(r"https?:(?!//www.w3.org)", page)


def test_the_terminal_shows_many_groups_as_one_table(
    dantas: Path, dantas_groups: list[Group]
) -> None:
    out = io.StringIO()
    show(Console(file=out, width=100), dantas)
    text = out.getvalue()
    assert max(len(line) for line in text.splitlines()) <= 100
    assert text.count("round trips, median / p90") == 1
    assert "delay per layer" not in text
    assert text.count("n 60, lost 0") == len(dantas_groups)


def test_a_papers_own_tables_come_first(dantas: Path) -> None:
    out = io.StringIO()
    show(Console(file=out, width=160), dantas)
    text, page = out.getvalue(), write_report(dantas).read_text(encoding="utf-8")
    assert (
        0 < text.index("(after Dantas et al. (2015), of this machine)") < text.index("round trip")
    )
    sections = re.findall(r'<section id="(\w+)">', page)
    assert sections.index("tables") < sections.index("way")
    assert next(iter(plain(as_json(dantas))["tables"])) == "paper"


def test_a_grid_has_every_panel_so_that_none_takes_anothers_place() -> None:
    rows = [{"us": 1.0, "load": "cpu", "row": "a"}, {"us": 2.0, "load": "io", "row": "b"}]
    full = boxes.filled(rows, "load", "row")
    assert {(row["load"], row["row"]) for row in full} == {
        (load, row) for load in ("cpu", "io") for row in ("a", "b")
    }
    assert [row["us"] for row in full] == [1.0, 2.0, None, None]


@pytest.mark.parametrize("source", ["dantas2015", "oliveira2022"])
def test_a_paper_without_trials_still_reports(tmp_path: Path, source: str) -> None:
    directory = synthetic.write(tmp_path, [], [], source)
    page = write_report(directory).read_text(encoding="utf-8")
    assert '<section id="tables">' not in page
