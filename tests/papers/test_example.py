"""The example of docs/papers.md: its report, from its folder and from an installed package."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from delaylab.errors import DelaylabError
from delaylab_study.dataset.store import read_study, resume_command
from delaylab_study.papers import toolkit
from delaylab_study.papers.loading import given
from delaylab_study.papers.registry import GROUP
from delaylab_study.papers.studies import find, names
from delaylab_study.report.html import write_report
from delaylab_study.report.show import as_json
from delaylab_study.verbs.datasets import show
from delaylab_study.verbs.study_file import load
from tests.papers.cases import EXAMPLE, ROOT, dataset, package
from tests.plain import plain

CLAIMS = ["interface-adds-delay", "load-adds-delay", "half-of-it-in-the-kernel"]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return dataset(tmp_path_factory.mktemp("data"), CLAIMS, "mypaper")


def test_its_folder_is_a_study_with_its_paper() -> None:
    chosen = load(str(EXAMPLE))
    assert chosen.study.spec.study == "mypaper"
    assert chosen.paper is not None
    assert [claim.id for claim in chosen.paper.claims] == chosen.study.spec.claims == CLAIMS
    assert chosen.paper_text == str(EXAMPLE)


def test_its_claims_are_judged(data: Path) -> None:
    found = plain(as_json(data, given(str(EXAMPLE))))["claims"]
    assert [claim["id"] for claim in found] == CLAIMS
    assert [claim["verdict"] for claim in found] == ["reproduced"] * 3
    adds, _, share = found
    # 15 µs more above the queue, and two more segments of 5 µs each.
    assert adds["effect"] == pytest.approx(25, abs=6)
    assert adds["unit"] == "µs"
    assert share["effect"] > 0.5


def test_its_page_has_its_table_and_its_figure(data: Path) -> None:
    page = write_report(data, given(str(EXAMPLE))).read_text(encoding="utf-8")
    assert "Median RTT" in page
    assert '<span class="paper">60.0 µs</span>' in page
    assert (data / "charts" / "rtt-by-load.png").is_file()
    assert "whiteaker2011" not in page
    assert "is not installed" not in page


def test_an_interrupted_run_is_continued_with_its_paper() -> None:
    again = resume_command(Path("results/a b"), "./my paper")
    assert again == "delaylab run --resume 'results/a b' --paper './my paper'"
    assert resume_command(Path("out"), pcap=True) == "delaylab run --resume out --pcap"


def test_without_its_folder_a_note_says_what_is_missing(data: Path) -> None:
    note = "the paper 'mypaper', which this study repeats, is not installed"
    out = io.StringIO()
    show(Console(file=out, width=200), data)
    assert f"note: {note}" in out.getvalue()
    page = write_report(data).read_text(encoding="utf-8")
    assert note.replace("'", "&#39;") in page
    found = plain(as_json(data))["claims"]
    assert {claim["verdict"] for claim in found} == {"not testable here"}
    assert note in found[0]["why"]


def test_installed_it_needs_no_folder(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(ROOT / "examples")
    entries = {"mypaper": "mypaper.paper:PAPER"}
    monkeypatch.syspath_prepend(package(tmp_path, "mypaper", entries))
    assert "mypaper" in names()
    assert find("mypaper") == EXAMPLE / "study.yaml"
    assert [claim["verdict"] for claim in plain(as_json(data))["claims"]] == ["reproduced"] * 3
    page = write_report(data).read_text(encoding="utf-8")
    assert "is not installed" not in page
    assert '<span class="paper">60.0 µs</span>' in page
    # The folder is that of the installed paper: there is one paper, not two of the same name.
    assert given(str(EXAMPLE)) is given("mypaper")


def test_a_dataset_runs_no_code_of_a_folder(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "mypaper"
    folder.mkdir()
    (folder / "paper.py").write_text("raise SystemExit('run')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    assert len(plain(as_json(read_study(data)))["claims"]) == 3
    with pytest.raises(DelaylabError, match="no paper 'nobody2020'"):
        given("nobody2020")


def test_the_page_on_papers_has_the_example_and_the_toolkit() -> None:
    page = (ROOT / "docs" / "papers.md").read_text()
    table = page.partition("## The toolkit")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`.*?) \|", table, re.M)
    named = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    assert sorted(named) == sorted(toolkit.__all__)
    assert f'[project.entry-points."{GROUP}"]' in page
    quoted = re.findall(r"```python\n# examples/mypaper/(\w+\.py)\n(.*?)```", page, re.S)
    assert quoted
    for file, text in quoted:
        assert text.strip() in (EXAMPLE / file).read_text()
