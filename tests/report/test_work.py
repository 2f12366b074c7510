"""Work in the report: every node's figures in every width, verdicts, drawings, and who failed."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from delaylab.io.terminal import json_text
from delaylab_study.dataset.store import read_study
from delaylab_study.report.html import write_report
from delaylab_study.report.show import as_json
from delaylab_study.verbs.datasets import show
from tests.analysis.test_work import S, Steps, done, worked

WIDTHS = (60, 80, 120)
FAST: Steps = [(at / 100, float(at)) for at in range(1, 101)]
SLOW: Steps = [(at / 50, float(at)) for at in range(1, 101)]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two nodes, one at half of the other's speed, and one that failed; three trials."""
    folder = tmp_path_factory.mktemp("run")
    nodes = {
        "quick": (done("quick", 1, host_cpu_ns=S // 2), FAST),
        "slow": (done("slow", 2, host_cpu_ns=S // 3), SLOW),
        "dead": ({"work": "count", "node": "dead", "failed": "it said last: no disk"}, Steps()),
    }
    worked(folder, nodes, nodes, nodes)
    return folder


def printed(place: Path, width: int) -> str:
    console = Console(file=io.StringIO(), width=width)
    show(console, place)
    assert isinstance(console.file, io.StringIO)
    return " ".join(console.file.getvalue().split())


@pytest.mark.parametrize("width", WIDTHS)
def test_the_terminal_drops_no_figure(place: Path, width: int) -> None:
    text = printed(place, width)
    for said in ("quick", "133", "100 units/s", "500 ms", "slow", "67", "50.0 units/s", "333 ms"):
        assert said in text, said
    assert "not fair: a share is not within 10 % of fair, and slow got least" in text
    assert "Jain's index 0.900" in text
    assert "dead: it said last: no disk" in text


def test_json_has_the_shares_and_who_failed(place: Path) -> None:
    (work,) = json.loads(json_text(as_json(read_study(place))))["work"]
    assert (work["verdict"], work["unit"]) == ("not fair", "units/s")
    assert work["said"] == work["verdict"]
    assert work["nodes"]["slow"]["share_of_fair"] == pytest.approx(2 / 3)
    assert work["failed"] == {"dead": "it said last: no disk"}
    assert work["settled_s"] is None


def test_the_page_has_tables_and_drawings(place: Path) -> None:
    page = write_report(place).read_text(encoding="utf-8")
    assert '<section id="work">' in page
    assert "no disk" in page
    drawn = {path.name for path in (place / "charts").glob("*-count.svg")}
    assert drawn == {"shares-count.svg", "progress-count.svg"}


@pytest.fixture(scope="module")
def messages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_messages(tmp_path_factory.mktemp("mpi"))


def write_messages(folder: Path) -> Path:
    """A program of MPI on two nodes, with two operations and two figures."""
    times = [
        {"operation": "round-trip", "size_bytes": 65536, "repeats": 9, "least_ns": 2e5},
        {"operation": "barrier", "size_bytes": 0, "repeats": 9, "least_ns": 1e4},
    ]
    figures = [
        {"name": "random-ring-per-message", "value": 7250.0, "unit": "ns"},
        {"name": "linpack", "value": 6.76e9, "unit": "flop/s"},
    ]
    found = {"latencies": [{**each, "median_ns": 345_000.0} for each in times], "figures": figures}
    nodes = {
        "a": (done("a", 2, together=True, unit="runs/s", rate=0.5, **found), Steps()),
        "b": (done("b", 2, together=True, unit="runs/s", rate=0.5), Steps()),
    }
    worked(folder, nodes)
    return folder


@pytest.mark.parametrize("width", WIDTHS)
def test_what_a_program_of_mpi_found_is_in_words(messages: Path, width: int) -> None:
    text = printed(messages, width)
    said = ("one job of all its nodes", "round-trip", "65 536 B", "345 µs", "200 µs", "barrier")
    for each in (*said, "until as many bytes are back", "random ring, per message", "7.25 µs"):
        assert each in text, each
    assert "6.76 Gflop/s" in text
    assert "fair: " not in text


def test_json_and_page_have_messages_and_figures(messages: Path) -> None:
    (work,) = json.loads(json_text(as_json(read_study(messages))))["work"]
    assert work["together"]
    assert work["messages"][0] == {
        "operation": "round-trip",
        "size_bytes": 65536,
        "median_ns": 345_000.0,
        "least_ns": 200_000.0,
    }
    assert work["figures"][1] == {"name": "linpack", "value": 6.76e9, "unit": "flop/s"}
    page = write_report(messages).read_text(encoding="utf-8")
    for said in ("65 536 B", "345 µs", "random ring, per message", "6.76 Gflop/s"):
        assert said in page, said
    assert "Messages of count" in page
    drawing = (messages / "charts" / "messages-count.svg").read_text(encoding="utf-8")
    assert "345" in drawing
    assert not (messages / "charts" / "shares-count.svg").exists(), "nobody shares one job"
