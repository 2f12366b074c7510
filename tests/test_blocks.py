"""The blocks of README and of all pages: commands parse, Python has its names, labs are valid."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import typer.core
import typer.main
import yaml

from delaylab.cli import whole
from delaylab.errors import BadInput
from delaylab.resolve.load import lab_from
from delaylab.spec.source import parse
from tests.test_docs import ROOT

PAGES = [
    *(ROOT / "README.md", ROOT / "CONTRIBUTING.md"),
    *sorted(page for page in (ROOT / "docs").rglob("*.md") if page.parent.name != "cli"),
    *sorted((ROOT / "examples").rglob("*.md")),
]
BLOCK = re.compile(r"^( *)```([\w-]*)[^\n]*\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^(?:\$ )?(?:\.venv/bin/)?(delaylab [a-z].*)$")
LEFT_OUT = re.compile(r"…")
GENERATED = "\n## Reference\n"
"""The part of docs/api.md that is made from the code, and shows signatures."""
OF_FILES = ROOT / "docs" / "papers.md"
"""A page whose Python is parts of the files of an example, which a test of its own runs."""


@dataclass(frozen=True)
class Block:
    """A block of a page: its language, its text and the line on which it begins."""

    page: Path
    language: str
    text: str
    line: int

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(*languages: str) -> Iterator[Block]:
    for page in PAGES:
        text = page.read_text().partition(GENERATED)[0]
        for found in BLOCK.finditer(text):
            if found[2] in languages:
                indented = len(found[1])
                inside = "\n".join(line[indented:] for line in found[3].splitlines())
                yield Block(page, found[2], inside, text.count("\n", 0, found.start()) + 1)


def commands(block: Block) -> Iterator[list[str]]:
    """Give the words of each command of delaylab in a block, without pipes and comments."""
    for line in block.text.replace("\\\n", " ").splitlines():
        if found := COMMAND.match(line):
            words = shlex.shlex(found[1], posix=True, punctuation_chars=True)
            words.whitespace_split = True
            taken = []
            for word in words:
                if set(word) <= set("|&;<>()"):
                    break
                taken.append(word)
            yield taken


SHELL = [
    (block, words) for block in blocks("", "sh", "console", "bash") for words in commands(block)
]


def test_the_blocks_of_pages_are_found() -> None:
    assert len(SHELL) > 100


@pytest.mark.parametrize(("block", "words"), SHELL, ids=lambda each: str(each)[:60])
def test_each_command_of_a_page_is_one(block: Block, words: list[str]) -> None:
    """Its verb is there, and its options and arguments are those that the verb takes."""
    require_one([LEFT_OUT.sub("x", word) for word in words[1:]])


def require_one(words: list[str]) -> None:
    """Parse a command line down to its verb; an error of the parser is raised."""
    command = typer.main.get_command(whole())
    context = command.make_context("delaylab", rest := words)
    while isinstance(command, typer.core.TyperGroup):
        name, found, rest = command.resolve_command(context, rest)
        assert found is not None
        command, context = found, found.make_context(name, list(rest), parent=context)


@pytest.mark.parametrize("words", [["ps", "--no-such"], ["upp", "x.yaml"], ["link", "set"], ["up"]])
def test_what_is_no_command_is_found(words: list[str]) -> None:
    with pytest.raises(Exception, match=r"No such|Missing"):
        require_one(words)


@pytest.mark.parametrize(
    "block", [block for block in blocks("python") if block.page != OF_FILES], ids=str
)
def test_python_of_a_page_has_its_names(block: Block) -> None:
    """Names of earlier blocks of the page are known in later ones."""
    before = [
        each.text
        for each in blocks("python")
        if each.page == block.page and each.line <= block.line
    ]
    ruff = [str(Path(sys.executable).parent / "ruff"), "check", "--isolated", "--select", "E9,F821"]
    done = subprocess.run(
        [*ruff, "-"], input="\n".join(before), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


def labs() -> Iterator[Block]:
    for block in blocks("yaml"):
        if re.search(r"^lab: ", block.text, re.MULTILINE) and not LEFT_OUT.search(block.text):
            yield block


@pytest.mark.parametrize("block", list(labs()), ids=str)
def test_a_lab_of_a_page_is_valid(block: Block, tmp_path: Path) -> None:
    # What is in the files that it takes is for the test of the page.
    for name in re.findall(r"\{from: ([^},]+)", block.text):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    for text in re.split(r"^---$", block.text, flags=re.MULTILINE):
        if isinstance(yaml.safe_load(text), dict) and "nodes" in yaml.safe_load(text):
            try:
                lab_from(parse(text, str(block), tmp_path))
            except BadInput as error:
                pytest.fail(str(error))
