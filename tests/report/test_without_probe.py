"""Reports of studies without a probe: work, the machine and loads, and nothing of packets."""

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
from tests import synthetic, unprobed
from tests.pages import visible
from tests.unprobed import Trial, job

ABOUT_PACKETS = ("packet", "rtt", "probe", "stamp", "one way", " tap")
LOAD = {
    "load": "cpu",
    "on": "a",
    "asked": "1",
    "achieved": {"cpu_percent_per_worker": 99.0, "cpus": 1},
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    trials = [
        Trial([job("a", 1), job("b", 1.4)], {"load": "rest"}, hosts=synthetic.hosts(40, busy=0.2)),
        Trial([job("a", 1), job("b", 1.1)], {"load": "cpu"}, more={"loads": [LOAD]}),
    ]
    return unprobed.write(tmp_path_factory.mktemp("run"), trials)


@pytest.mark.parametrize("width", [60, 120])
def test_the_terminal_has_work_machine_and_loads(place: Path, width: int) -> None:
    console = Console(file=io.StringIO(), width=width)
    show(console, place)
    assert isinstance(console.file, io.StringIO)
    text = " ".join(console.file.getvalue().split())
    for said in ("Work count: rest", "Jain's index", "The machine", "before", "20 %", "cpu acted"):
        assert said in text, said
    assert not [word for word in ABOUT_PACKETS if word in text.lower()]


def test_the_page_has_no_word_of_packets(place: Path) -> None:
    page = write_report(place).read_text(encoding="utf-8")
    body = visible(page[page.index("<main>") :]).lower()
    for section in ("work", "warnings", "machine", "loads", "run"):
        assert f'<section id="{section}">' in body
    for section in ("way", "time", "cost", "clocks", "accounting", "figures", "layers", "tables"):
        assert f'<section id="{section}">' not in body
    for word in ("rtt", "whiteaker", "taps", ">flagged<", "effective sample"):
        assert word not in body, word
    assert "the study has no probe" in body


def test_json_has_the_machine_and_the_checks(place: Path) -> None:
    told = json.loads(json_text(as_json(read_study(place))))
    assert told["instrument"] == {}
    by_load = {trial["factors"]["load"]: trial for trial in told["trials"]}
    assert [each["acted"] for each in by_load["cpu"]["loads"]] == [True, True]
    assert by_load["rest"]["machine_state"]["phases"][0]["busy"] == pytest.approx(0.2)
    assert by_load["rest"]["rtt"] == {}
    assert [work["factors"]["load"] for work in told["work"]] == ["rest", "cpu"]
