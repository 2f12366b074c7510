"""Papers that cannot be used: one line that says which, where and why, and exit code 2."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from delaylab.errors import BadInput
from delaylab_study.papers.loading import claims, given
from delaylab_study.papers.registry import installed
from delaylab_study.papers.studies import find, names
from delaylab_study.report.html import write_report
from delaylab_study.report.show import as_json
from delaylab_study.verbs.study_file import load
from tests.papers.cases import EXAMPLE, dataset, package, paper
from tests.plain import plain

Change = Callable[[str], str]


def changed(old: str, new: str) -> Change:
    def change(text: str) -> str:
        assert old in text
        return text.replace(old, new)

    return change


UNUSABLE: dict[str, tuple[Change, str]] = {
    "syntax": (lambda text: "\nPAPER = (\n", r"paper\.py:2: .*SyntaxError: '\(' was never closed"),
    "import": (lambda text: "import nobody\n", r"paper\.py:1: .*No module named 'nobody'"),
    "toolkit-of-0.1": (
        lambda text: "from delaylab.papers.toolkit import Paper\n",
        r"paper\.py:1: .*the toolkit is delaylab_study\.papers\.toolkit now",
    ),
    "neighbour": (
        lambda text: "x = 1\nfrom .neighbour import x\n",
        r"paper\.py:2: .*No module named",
    ),
    "division": (lambda text: "\n\n1 / 0\n", r"paper\.py:3: .*ZeroDivisionError"),
    "exit": (lambda text: "import sys\nsys.exit('run')\n", r"paper\.py:2: .*SystemExit: run"),
    "no-name": (changed('"other"', "1"), "the name of PAPER is no text"),
    "no-paper": (lambda text: "x = 1\n", r"paper\.py: PAPER is no Paper: there is none"),
    "another-type": (lambda text: "PAPER = {}\n", r"paper\.py: PAPER is no Paper: it is a dict"),
    "claims-of-text": (changed("CLAIMS, tables", "('x',), tables"), "is no Claim"),
    "claim-twice": (changed("CLAIMS, tables", "CLAIMS * 2, tables"), "two claims 'it-holds'"),
    "no-function": (changed("tables=tables", "tables=[]"), "tables of PAPER is no function"),
}


@pytest.mark.parametrize("case", list(UNUSABLE))
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, case: str) -> None:
    change, expected = UNUSABLE[case]
    folder = paper(tmp_path / "p", change)
    for _ in range(2):  # what failed once must not be half there
        with pytest.raises(BadInput, match=expected) as caught:
            given(str(folder))
        assert caught.value.exit_code == 2
        assert "\n" not in str(caught.value)


def test_a_folder_without_paper_py(tmp_path: Path) -> None:
    for refused in (lambda: find(str(tmp_path)), lambda: given(str(tmp_path))):
        with pytest.raises(BadInput, match=r"the folder has no paper\.py"):
            refused()


def test_a_folder_without_a_study_or_with_several(tmp_path: Path) -> None:
    folder = paper(tmp_path / "p")
    study = (folder / "study.yaml").rename(folder / "a.yaml")
    (folder / "lab.yaml").write_text("lab: l\nnodes: {a: {}}\n")
    assert find(str(folder)) == study
    (folder / "b.yaml").write_text(study.read_text())
    with pytest.raises(
        BadInput, match=r"2 studies and no study\.yaml .*--paper .*a\.yaml, b\.yaml"
    ):
        find(str(folder))
    chosen = load(str(study), str(folder))
    assert chosen.paper is not None
    for path in (study, folder / "b.yaml"):
        path.unlink()
    with pytest.raises(BadInput, match="the folder has no study"):
        find(str(folder))


def test_a_file_runs_no_code_beside_it(tmp_path: Path) -> None:
    folder = paper(tmp_path / "p", lambda text: "raise SystemExit('run')")
    with pytest.raises(BadInput, match="no claim 'it-holds'"):
        load(str(folder / "study.yaml"))


def test_a_name_that_is_taken(tmp_path: Path) -> None:
    folder = paper(tmp_path / "p", changed('"other"', '"vem2006"'))
    with pytest.raises(BadInput, match="a paper named 'vem2006' is installed already"):
        given(str(folder))


def test_a_claim_that_is_taken(tmp_path: Path) -> None:
    folder = paper(tmp_path / "p", changed("it-holds", "network-adds-most"))
    both = "two papers have a claim 'network-adds-most': whiteaker2011 and other"
    with pytest.raises(BadInput, match=both):
        claims(given(str(folder)))


def test_a_study_of_another_paper(tmp_path: Path) -> None:
    folder = paper(tmp_path / "p", changed('"other"', '"another"'))
    with pytest.raises(BadInput, match=r"study\.yaml:\d+: the study repeats 'other', the paper is"):
        load(str(folder))


def test_a_study_with_an_unknown_claim(tmp_path: Path) -> None:
    folder = paper(tmp_path / "p", changed("it-holds", "it-moves"))
    with pytest.raises(BadInput, match=r"study\.yaml:\d+: no claim 'it-holds' .*it-moves"):
        load(str(folder))


def test_installed_papers_that_cannot_be_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(package(tmp_path / "a", "a", {"gone": "nobody.paper:PAPER"}))
    assert "quickstart" in names()
    with pytest.raises(BadInput, match=r"installed paper gone: .*No module named 'nobody'"):
        given("gone")
    monkeypatch.syspath_prepend(package(tmp_path / "b", "b", {"vem2006": "nobody:PAPER"}))
    with pytest.raises(BadInput, match="two papers are named 'vem2006'"):
        installed()


def test_an_entry_point_of_another_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(EXAMPLE.parent)
    monkeypatch.syspath_prepend(package(tmp_path, "c", {"yours": "mypaper.paper:PAPER"}))
    with pytest.raises(BadInput, match="named 'yours', it 'mypaper'"):
        given("yours")


NOT_WHOLE = r"tables\(\) failed: table 'A table' has a row that does not fit its head"
FAILING: dict[str, tuple[Change, str]] = {
    "claim": (
        changed('return [Measured("here", Effect(1, (1, 1)), groups, "it holds")]', "return [][2]"),
        r"paper\.py:7: paper other: test\(\) failed: IndexError",
    ),
    "claim-of-nothing": (
        changed('return [Measured("here", Effect(1, (1, 1)), groups, "it holds")]', "return [1]"),
        r"paper other: test\(\) failed: ",
    ),
    "tables": (
        changed('return [Table("A table", "note", ["a"], [["b"]])]', "return [][1]"),
        r"paper\.py:11: paper other: tables\(\) failed: IndexError",
    ),
    "tables-of-nothing": (
        changed('return [Table("A table", "note", ["a"], [["b"]])]', "return None"),
        r"tables\(\) failed: it returned NoneType, not a list of Table",
    ),
    "cells": (changed('[["b"]]', "[[1]]"), NOT_WHOLE),
    "columns": (
        changed('[["b"]]', '[["b", "c"]]'),
        NOT_WHOLE,
    ),
}


@pytest.mark.parametrize("case", list(FAILING))
def test_an_error_in_a_function_names_paper_function_and_line(tmp_path: Path, case: str) -> None:
    change, expected = FAILING[case]
    folder = paper(tmp_path / "p", change)
    data = dataset(tmp_path / "data", ["it-holds"], "other")
    with pytest.raises(BadInput, match=expected) as caught:
        write_report(data, given(str(folder)))
    assert caught.value.exit_code == 2


def test_a_paper_without_errors_is_reported(tmp_path: Path) -> None:
    folder = paper(tmp_path / "p")
    data = dataset(tmp_path / "data", ["it-holds"], "other")
    (found,) = plain(as_json(data, given(str(folder))))["claims"]
    assert found["verdict"] == "reproduced"
    assert "A table" in write_report(data, given(str(folder))).read_text(encoding="utf-8")


def test_the_command_line_says_it_in_one_line(tmp_path: Path) -> None:
    data = dataset(tmp_path / "data", ["it-holds"], "other")
    folder = paper(tmp_path / "p", FAILING["claim"][0])
    script = "from delaylab.cli import main; main()"
    for verb in ("show", "report"):
        words = [sys.executable, "-c", script, verb, str(data), "--paper", str(folder)]
        ran = subprocess.run(words, capture_output=True, text=True, check=False)
        assert ran.returncode == 2
        assert ran.stdout == ""
        (line,) = ran.stderr.splitlines()
        assert line.startswith(f"delaylab: {folder}/paper.py:7: paper other: test() failed: ")
