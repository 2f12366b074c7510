"""The labs, studies and Python of README and of all pages run as they are written."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.doing.conftest import Run, only_line
from tests.test_blocks import PAGES, Block, blocks, labs
from tests.test_docs import ROOT
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.root
FILE = re.compile(r'^```\w+ title="([^"]+)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)


OF_MACHINE = {"interface: eth1": ("there is no such interface", 1)}
"""Parts of labs that the test machine cannot have -> the message of `up`, and its exit code."""
OF_ROOT = {
    "interface: ": ("that needs root", 3),
    "kind: lxc": ("needs root", 3),
    "routing: ": ("only root can write", 3),
}
"""Parts of labs that an ordinary user cannot have, likewise."""


MADE_ELSEWHERE = re.compile(r"from: [0-9a-z/]*r[0-9].conf")
"""Files that commands of a tutorial make: the test of the tutorial has them."""


def of_this_machine() -> list[Block]:
    """Labs that need no other machine; the tutorials bring the others up."""
    others = re.compile(rf"^(study|machines):|{MADE_ELSEWHERE.pattern}", re.M)
    return [block for block in labs() if not others.search(block.text)]


def studies() -> list[Block]:
    of_page = (each for each in blocks("yaml") if not MADE_ELSEWHERE.search(each.text))
    return [each for each in of_page if re.match(r"study: .*^lab: ", each.text, re.M | re.S)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the examples, and with all files that pages write by their name."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    for page in PAGES:
        for found in FILE.finditer(page.read_text()):
            (tmp_path / found[1]).write_text(found[2])
    return tmp_path


@pytest.mark.parametrize("block", of_this_machine(), ids=str)
@pytest.mark.parametrize("user", ["root", "nobody"])
def test_a_lab_of_a_page_comes_up(
    delaylab: Run, nobody: Run, folder: Path, block: Block, user: str
) -> None:
    run, needs = (delaylab, OF_MACHINE) if user == "root" else (nobody, OF_ROOT)
    for number, text in enumerate(re.split(r"^---$", block.text, flags=re.MULTILINE)):
        (folder / f"lab{number}.yaml").write_text(text)
        lacks = next((why for part, why in needs.items() if part in text), None)
        if lacks is None:
            run("up", f"lab{number}.yaml")
            run("down", "--all")
        else:
            said = run("up", f"lab{number}.yaml", code=lacks[1]).stderr
            assert lacks[0] in only_line(said)


@pytest.mark.parametrize("block", studies(), ids=str)
def test_a_study_of_a_page_can_be_planned(delaylab: Run, folder: Path, block: Block) -> None:
    (folder / "study-of-page.yaml").write_text(block.text)
    assert "report included" in delaylab("run", "study-of-page.yaml", "--dry-run").stdout


def printed(text: str, folder: Path) -> str:
    """Run Python in a folder; return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", text],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("page", ["api.md", "README.md"])
def test_python_of_a_page_runs(page: str, folder: Path) -> None:
    (block,) = (each for each in blocks("python") if each.page.name == page)
    assert "factor.load" in printed(block.text, folder)  # a column of a table


def test_the_routes_of_a_page_are_observed(delaylab: Run, folder: Path) -> None:
    """The Python of docs/routing.md runs on a lab of the name that it attaches to."""
    (block,) = (each for each in blocks("python") if each.page.name == "routing.md")
    of_page = (each for each in of_this_machine() if each.page == block.page)
    (lab,) = (each for each in of_page if "lab: three" in each.text)
    (folder / "lab.yaml").write_text(lab.text.replace("lab: three", "lab: ospf"))
    delaylab("up", "lab.yaml")
    tables = printed(block.text.replace("timeout_s=10", "timeout_s=0"), folder)
    delaylab("down", "ospf")
    assert "north" in tables  # an interface of r-1
