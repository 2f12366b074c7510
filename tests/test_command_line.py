"""Command lines are read in any order of options, with the lab by its name or alone. Pure."""

from __future__ import annotations

import re
import sys

import pytest
import typer
from tools.cli_pages import commands
from typer.main import get_command
from typer.testing import CliRunner

from delaylab.cli import whole
from delaylab.cli.groups import GROUPS, HelpGroup
from delaylab.cli.options import Json, NamesLab, in_order

OPTIONS = {"--down": "down", "--up": "up"}


def test_options_act_in_the_order_of_the_command_line() -> None:
    words = ["lab", "--down", "a", "--up", "a", "--json", "--down=b", "--down", "b", "--down", "c"]
    assert in_order(words, OPTIONS) == [
        ("--down", ("a",)),
        ("--up", ("a",)),
        ("--down", ("b", "c")),
    ]
    assert in_order(["--", "--down", "a"], OPTIONS) == []
    assert in_order(["--timeout", "1s", "--up", "x"], OPTIONS) == [("--up", ("x",))]


def one_verb() -> typer.Typer:
    """Make an application whose one verb prints how its words were read."""
    one = typer.Typer()

    @one.command(cls=NamesLab)
    def _(words: list[str], node: str = "", as_json: Json = False) -> None:
        sys.stdout.write(f"{words} {node} {as_json}")

    return one


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--lab", "l", "a:/x", "y"], "['l', 'a:/x', 'y']  False"),
        (["a:/x", "y", "-l", "l"], "['l', 'a:/x', 'y']  False"),
        (["a:/x", "-ll"], "['l', 'a:/x']  False"),
        (["--json", "--lab=l", "node"], "['l', 'node']  True"),
        (["l", "node"], "['l', 'node']  False"),
        (["node", "--", "--lab", "x"], "['node', '--lab', 'x']  False"),
        (["--node", "--lab", "x"], "['x'] --lab False"),
        (["-l", "l", "--", "-x"], "['l', '-x']  False"),
    ],
)
def test_a_lab_that_an_option_names_is_the_first_argument(words: list[str], expected: str) -> None:
    ran = CliRunner().invoke(one_verb(), words)
    assert (ran.exit_code, ran.stdout) == (0, expected)


@pytest.mark.parametrize("words", [["--lab"], ["--lab=--json", "node"], ["-l", "--json", "node"]])
def test_no_option_is_taken_for_the_name_of_a_lab(words: list[str]) -> None:
    ran = CliRunner().invoke(one_verb(), words)
    assert ran.exit_code == 2
    assert "'--lab'" in ran.stderr


def test_every_verb_of_a_running_lab_takes_its_name_by_one_option() -> None:
    """Verbs without a running lab have no `--lab`, or mean another thing by it."""
    named = {
        name
        for name, command in commands(get_command(whole()))
        if any("--lab" in each.opts and "-l" in each.opts for each in command.params)
    }
    others = {name for name, _ in commands(get_command(whole()))} - named
    assert others == {
        *(
            "plan",
            "graph",
            "up",
            "ps",
            "image",
            "doctor",
            "schema",
            "import",
            "generate",
            "place",
            "why",
        ),
        *(
            "run",
            "worker",
            "export",
            "report",
            "charts",
            "show",
            "compare",
            "replay",
            "ping",
            "noise",
        ),
    }


def test_help_lists_all_verbs_in_groups() -> None:
    said = CliRunner().invoke(whole(), ["--help"], env={"COLUMNS": "80"}).output
    found = {
        group: [line.split()[1] for line in part.splitlines() if re.match("│ [a-z]", line)]
        for group, part in re.findall(r"─ ([A-Z][^─]*?) ─+╮\n(.*?)╰", said, re.DOTALL)
    }
    assert [*found] == ["Options", *HelpGroup]
    verbs = {name.split()[0] for name, _ in commands(get_command(whole()))}
    assert sorted(verb for group in HelpGroup for verb in found[group]) == sorted(verbs)
    for group, own in GROUPS.items():
        assert found[group][: len(own)] == [*own], "verbs of other packages follow"
