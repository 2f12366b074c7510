"""Files of strangers: attacks and mistakes end in one line, at once, whoever the user is.

The cases are the files in `lab`, `study` and `conditions` (their first line says what the error
says), the lists in `dataset`, and `generated` for what is too large to keep.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from xml.etree import ElementTree

import pytest

from delaylab.io.printable import printable
from delaylab_study.report.style import TEMPLATES
from tests.command import Done, delaylab, imports_s
from tests.hostile.cases import Case, made_of, valid
from tests.hostile.dataset import refused, shown
from tests.hostile.generated import GENERATED
from tests.hostile.maps import MAPS

HERE = Path(__file__).parent
TIMES, PEAK_MIB = 1.5, 300.0
"""The most CPU time of a refusal, as a multiple of what importing all verbs costs, and the most
memory. On CPUs that others use, one and the same command may take a third more CPU time."""


def of_files(folder: str, *verb: str) -> Iterator[Case]:
    for path in sorted((HERE / folder).glob("*.yaml")):
        says = path.read_bytes().split(b"\n")[0].decode().removeprefix("# expects:").strip()
        argv = [*verb, str(path)]
        yield Case(f"{folder}/{path.stem}", says, lambda _, argv=argv: argv)  # type: ignore[misc]


def of_conditions() -> Iterator[Case]:
    for path in sorted((HERE / "conditions").glob("*.json")):
        said = json.loads(path.read_text())
        argv = ["link", "set", "nolab", "wan", "--", *said["conditions"]]
        yield Case(f"conditions/{path.stem}", said["expects"], lambda _, argv=argv: argv)  # type: ignore[misc]


REFUSED = [
    *of_files("lab", "plan"),
    *of_files("study", "run", "--dry-run"),
    *of_conditions(),
    *(
        Case(f"dataset/{name}", says, made_of(change, "show"))
        for name, (says, change) in refused.CASES.items()
    ),
    *GENERATED,
    *MAPS,
]
SHOWN = (
    [
        Case(f"{verb}/{name}", "", made_of(change, verb))
        for verb, names in (("show", shown.CASES), ("report", shown.REPORTED))
        for name in names
        for change in (shown.CASES[name],)
    ]
    + [
        Case(f"json/{name}", "", made_of(shown.CASES[name], "show", "--json"))
        for name in ("title", "warnings", "no-packets", "programs")
    ]
    + [
        Case(f"csv/{table}", "", made_of(shown.CASES["everywhere"], "show", "--csv", table))
        for table in ("packets", "segments", "trials", "delays", "machine", "run")
    ]
)
SLOW = {
    "report/reason",
    "report/of-a-paper-that-it-is-not",
    "report/no-stamps",
    "report/clocks-of-every-stamp",
    "report/link-unused",
}
"""Reports left to `make test-slow`: every run of the tests has `show` of the same datasets."""


class Runs:
    """The commands of cases, each in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        valid(folder)
        self._folder = folder

    def of(self, case: Case) -> Done:
        folder = self.folder(case)
        folder.mkdir()
        return delaylab(*case.build(folder), folder=folder)

    @cached_property
    def report_s(self) -> float:
        """The CPU time of a whole report of the valid dataset."""
        place = shutil.copytree(self._folder / "valid", self._folder / "reported")
        return delaylab("report", str(place), folder=self._folder).cpu_s

    def folder(self, case: Case) -> Path:
        return self._folder / re.sub(r"\W", "-", case.name)


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    return Runs(tmp_path_factory.mktemp("hostile"))


def clean(text: str) -> bool:
    """Nothing in it controls a terminal."""
    return printable(text) == text


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_it_is_refused_in_one_line(runs: Runs, case: Case) -> None:
    done = runs.of(case)
    assert done.code in (1, 2), done
    lines = done.err.splitlines()
    assert len(lines) == 1, done.err
    assert lines[0].startswith("delaylab: ")
    assert clean(done.err)
    assert clean(done.out)
    assert "Traceback" not in done.err + done.out
    assert case.says in lines[0]
    assert len(lines[0]) < 1000
    # The trials that are not damaged are reported all the same.
    reported_s = runs.report_s if "report.html" in done.out else 0.0
    assert done.cpu_s < TIMES * imports_s() + reported_s, done
    assert done.peak_mib < PEAK_MIB, done


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, marks=[pytest.mark.slow] if case.name in SLOW else []) for case in SHOWN],
    ids=lambda case: case.name,
)
def test_it_is_shown_harmlessly(runs: Runs, case: Case) -> None:
    done = runs.of(case)
    assert done.code == 0, done.err
    assert done.err == ""
    assert clean(done.out)
    place = runs.folder(case) / "run"
    if case.name.startswith("json/"):
        json.loads(done.out, parse_constant=pytest.fail)
    if case.name.startswith("report/"):
        page = (place / "report.html").read_text(encoding="utf-8")
        assert clean(page)
        # The page has one script, of its own; the content policy admits no other.
        own = f"<script>{(TEMPLATES / 'page.js').read_text(encoding='utf-8')}</script>"
        assert page.count(own) == 1
        others = page.replace(own, "").replace("&lt;", "")
        assert not re.search(r"<(script|img)|\sonerror=alert\(1\)>", others)
        drawings = [path.read_text() for path in (place / "charts").glob("*.svg")]
        for drawing in [*drawings, *re.findall(r"<svg.*?</svg>", page, re.DOTALL)]:
            names = {
                element.tag.rpartition("}")[2] for element in ElementTree.fromstring(drawing).iter()
            }
            assert not names & {"script", "img", "foreignObject"}
            assert clean(drawing)


def test_there_are_enough_of_them() -> None:
    names = [case.name for case in (*REFUSED, *SHOWN)]
    assert len(set(names)) == len(names)
    assert len(REFUSED) >= 180


def test_a_report_is_written_past_no_link(tmp_path: Path) -> None:
    place = shutil.copytree(valid(tmp_path), tmp_path / "run")
    mine = tmp_path / "mine"
    mine.write_text("mine")
    (place / "charts").mkdir()
    for name in ("report.html", "charts/way-1-netns.svg", "charts/way-1-netns.png"):
        (place / name).symlink_to(mine)
    assert delaylab("report", str(place), folder=tmp_path).code == 0
    assert mine.read_text() == "mine"
    assert not (place / "report.html").is_symlink()
    assert not (place / "charts" / "way-1-netns.svg").is_symlink()
    assert not list(place.rglob(".report*"))
