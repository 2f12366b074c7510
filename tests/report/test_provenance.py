"""A dataset tells the software and settings that it was measured with, in every form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from delaylab.cli import whole
from delaylab_study.analysis.compared.many import compare_studies
from delaylab_study.dataset.store import read_study
from tests import synthetic
from tests.synthetic import Condition

KNOWN = {
    "commit": "0123456789abcdef0123456789abcdef01234567-dirty",
    "governor": "performance",
    "congestion_control": "bbr",
    "mitigations": {"spectre_v2": "Mitigation: <Retpolines>", "mds": "Not affected"},
    "cgroups": "2",
    "programs": {"QEMU": "7.2.22", "stress-ng": "0.15.06"},
}


def written(place: Path, **changed: Any) -> Path:
    conditions = [Condition(seed=1)]
    record = synthetic.study(conditions, [])
    record["machines"]["local"]["provenance"] = KNOWN | changed
    synthetic.write_study(place, record)
    trial = synthetic.trial(conditions[0], 0) | {"images": {"container": "00ff00ff00ff00ff"}}
    stamps, probes = synthetic.tables(conditions[0])
    synthetic.write_trial(place, trial, stamps, probes, synthetic.hosts())
    return place


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("known") / "run")


def shown(verb: str, place: Path, *words: str) -> str:
    ran = CliRunner().invoke(whole(), [verb, str(place), *words])
    assert ran.exit_code == 0, ran.exception
    return ran.stdout


def test_the_terminal_tells_it_shortly(place: Path) -> None:
    text = " ".join(shown("show", place).split())
    assert "delaylab 0.1.0 at 0123456789-dirty, governor performance, control groups 2" in text
    assert "control groups 2, TCP bbr" in text
    assert "QEMU 7.2.22, stress-ng 0.15.06" in text


def test_json_and_the_report_tell_all_of_it(place: Path) -> None:
    assert json.loads(shown("show", place, "--json"))["machine"]["provenance"] == KNOWN
    page = Path(shown("report", place).strip()).read_text()
    for said in (
        "spectre_v2: Mitigation: &lt;Retpolines&gt;",
        "<dt>image container</dt>",
        "7.2.22",
    ):
        assert said in page


def test_a_dataset_of_an_earlier_version_says_nothing_of_it(tmp_path: Path) -> None:
    place = synthetic.write(tmp_path / "run", [Condition()])
    assert "governor" not in shown("show", place)


def test_compare_names_what_changed(place: Path, tmp_path: Path) -> None:
    other = written(tmp_path / "other", cgroups="1", programs={"QEMU": "9.0.0"})
    old = synthetic.write(tmp_path / "old", [Condition(seed=1)])
    studies = [read_study(each) for each in (place, other, old)]
    changed, unknown = compare_studies(studies).compared
    assert {(each.name, each.before, each.after) for each in changed.circumstances} == {
        ("control groups", "2", "1"),
        ("QEMU", "7.2.22", "9.0.0"),
        ("stress-ng", "0.15.06", "not known"),
    }
    assert unknown.circumstances == []


def test_compare_names_another_congestion_control(tmp_path: Path) -> None:
    conditions = [Condition(seed=1)]
    places = []
    for name in ("cubic", "bbr"):
        place = tmp_path / name
        synthetic.write_study(place, synthetic.study(conditions, []))
        trial = synthetic.trial(conditions[0], 0) | {"tcp_congestion_control": name}
        synthetic.write_trial(place, trial, *synthetic.tables(conditions[0]), synthetic.hosts())
        places.append(place)
    (found,) = compare_studies([read_study(each) for each in places]).compared
    (difference,) = found.circumstances
    assert (difference.before, difference.after) == ("cubic", "bbr")
    assert difference.name.startswith("TCP congestion control")
