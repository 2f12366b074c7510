"""A replication of somebody else's, from its folder to its report, on real packets."""

from __future__ import annotations

from pathlib import Path

import pytest

from delaylab_study.dataset import store
from tests.doing.conftest import Run, as_json, only_line

EXAMPLE = Path(__file__).parents[3] / "examples" / "mypaper"
pytestmark = [pytest.mark.root, pytest.mark.usefixtures("own_home")]


def test_the_example_runs_from_its_folder(delaylab: Run, tmp_path: Path) -> None:
    printed = delaylab("run", str(EXAMPLE), "--out", "out").stdout
    assert "A virtual interface adds delay." in printed
    study = store.read_study(tmp_path / "out")
    assert [trial.status for trial in study.trials] == ["ok"] * 4
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "Median RTT" in page
    assert '<span class="paper">60.0 µs</span>' in page
    assert (tmp_path / "out" / "charts" / "rtt-by-load.svg").is_file()

    shown = as_json(delaylab("show", "out", "--json", "--paper", str(EXAMPLE)))
    assert [claim["id"] for claim in shown["claims"]] == study.record.claims
    for claim in shown["claims"]:
        assert claim["verdict"] in ("reproduced", "contradicted", "open"), claim
        assert claim["effect"] is not None
        assert claim["interval"][0] <= claim["effect"] <= claim["interval"][1]

    assert "is not installed" in delaylab("show", "out").stdout


def test_a_study_that_nobody_has_is_told_from_those_that_there_are(delaylab: Run) -> None:
    said = only_line(delaylab("run", "nobody2020", code=2).stderr)
    assert "no study 'nobody2020'" in said
    assert "quickstart" in said
