"""The README's first labs run by its own words, also for an ordinary user."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.doing.conftest import Run
from tests.test_blocks import blocks, commands
from tests.test_docs import ROOT

pytestmark = pytest.mark.root


def section(title: str) -> list[list[str]]:
    """Return the commands of delaylab in a section of the README, by their words."""
    text = (ROOT / "README.md").read_text()
    begins = text[: text.index(f"\n## {title}\n")].count("\n") + 2
    ends = begins + text.splitlines()[begins:].index(
        next(line for line in text.splitlines()[begins:] if line.startswith("## "))
    )
    of_readme = [each for each in blocks("", "console") if each.page == ROOT / "README.md"]
    return [
        words[1:] for block in of_readme if begins < block.line <= ends for words in commands(block)
    ]


def test_the_sections_have_their_commands() -> None:
    verbs = [words[0] for words in section("A lab")[:4]]
    assert verbs == ["up", "exec", "ps", "down"]
    assert [words[0] for words in section("A link across an ocean")][-1] == "down"


@pytest.mark.parametrize("title", ["A lab", "A link across an ocean"])
@pytest.mark.parametrize("user", ["root", "nobody"])
def test_each_command_works(
    delaylab: Run, nobody: Run, tmp_path: Path, title: str, user: str
) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    run = delaylab if user == "root" else nobody
    # The first lab of a section: guests need packages that not every machine has.
    for words in section(title):
        run(*words)
        if words[0] == "down":
            break
    assert re.search("no lab is up", run("ps").stdout)
