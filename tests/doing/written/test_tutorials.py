"""The tutorials are true: their files and commands work, and print what they show.

A block `yaml title="NAME"` or `python title="NAME"` is a file, a block `console` is a session:
lines that begin with `$ ` are commands, the others are what they print, `…` is what is left out.
Numbers are masked, because they are different in each run. Lines that only a busy machine adds are
left out.
"""

from __future__ import annotations

import os
import re
import subprocess
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.command import without_progress
from tests.doing.conftest import DELAYLAB
from tests.doing.machines.ssh_machines import Lan, lan
from tests.doing.own_machine import within
from tests.waiting import PATIENCE_S

TUTORIALS = sorted((Path(__file__).parents[3] / "docs" / "tutorials").glob("*.md"))
BLOCK = re.compile(r'^```(\w*)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
OVER_MACHINES = {"machines": 3, "cluster": 4}
"""The tutorials that need machines `m1`, `m2`, …, which ssh reaches: how many."""
LONG = (
    *("cluster", "convergence", "culprit", "frr", "machines", "replication", "researcher"),
    *("service", "spike"),
)
"""The tutorials that take longest, left to `make test-slow`: other tests run all their commands."""
DONE = "--- command ended with exit code "
BUSY = re.compile(
    r"^(?:not held \(.*\), because the link engine of host \S+ (?:paused|missed) .*"
    r"|verdicts are about all frames since the counts began; .*"
    r"| *carriers fell after .*)\n",
    re.MULTILINE,
)
VALUE = re.compile(
    r"needs \d+ \([^)]*\)|"
    r"(?<![\w.])(?:[-+−]?\d[\d.,]*(?:e[-+]?\d+)?|–)(?:\s?(?:ns|µs|ms|s|%)(?!\w))?"
)


@dataclass
class Command:
    """A command of a session, and what it shall print."""

    line: str
    shown: list[str] = field(default_factory=list)


def masked(text: str) -> str:
    """Return the text on one line, without what depends on its numbers: they are `N`."""
    return " ".join(VALUE.sub("N", re.sub(r"([━─═])+", r"\1", text)).split())


def parts(command: Command) -> list[str]:
    """Return what a command shall print, cut where something is left out."""
    return [part for part in masked("\n".join(command.shown)).split("…") if part.strip()]


def steps(text: str) -> list[tuple[str, str] | list[Command]]:
    """Return files, by name and content, and sessions, in their order in a tutorial."""
    found: list[tuple[str, str] | list[Command]] = []
    for language, name, content in BLOCK.findall(text):
        if name:
            found.append((name, content))
        elif language == "console":
            found.append(session(content))
    return found


def session(content: str) -> list[Command]:
    commands: list[Command] = []
    for line in content.splitlines():
        if line.startswith("$ "):
            commands.append(Command(line[2:]))
        else:
            commands[-1].shown.append(line)
    return commands


def missing(command: Command, printed: str) -> str | None:
    """Return the first part that was not printed, after the parts before it."""
    rest = masked(BUSY.sub("", without_progress(printed)))
    for part in parts(command):
        _, met, rest = rest.partition(part.strip())
        if not met:
            return part
    return None


def printed(commands: list[Command], folder: Path, machines: Lan | None = None) -> list[str]:
    """Run a session in one shell; return what each command printed. Each must end with 0.

    With `machines` the shell is on the user's machine of their LAN.
    """
    script = "".join(f"{each.line}\ncode=$?; echo; echo '{DONE}'$code\n" for each in commands)
    place, variables = (
        ([], os.environ) if machines is None else (within(machines.user), machines.environment)
    )
    path = f"{DELAYLAB.parent}:{variables['PATH']}"
    with (folder / ".output").open("w+") as output:
        # Into a file: a command in the background may outlive the session's last command.
        subprocess.run(
            [*place, "bash", "-c", script],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            timeout=PATIENCE_S,
            check=True,
            cwd=folder,
            env={**variables, "PATH": path, "COLUMNS": "80"},
        )
        output.seek(0)
        *texts, _ = re.split(rf"^{DONE}(\d+)\n", output.read(), flags=re.MULTILINE)
    for command, text, code in zip(commands, texts[::2], texts[1::2], strict=True):
        assert code == "0", f"{command.line}: exit code {code}\n{text}"
    return texts[::2]


@pytest.mark.root
@pytest.mark.usefixtures("own_home")
@pytest.mark.parametrize(
    "tutorial",
    [
        pytest.param(path, marks=[pytest.mark.slow] if path.stem in LONG else [])
        for path in TUTORIALS
    ],
    ids=lambda path: path.stem,
)
def test_a_tutorial_does_what_it_says(tutorial: Path, tmp_path: Path) -> None:
    folder = tmp_path / "reader"
    folder.mkdir()
    with ExitStack() as stack:
        machines = None
        if many := OVER_MACHINES.get(tutorial.stem):
            place = tmp_path / "lan"
            place.mkdir()
            names = [f"m{number}" for number in range(1, many + 1)]
            machines = stack.enter_context(lan(place, names))
        for step in steps(tutorial.read_text()):
            if isinstance(step, tuple):
                (folder / step[0]).write_text(step[1])
                continue
            for command, text in zip(step, printed(step, folder, machines), strict=True):
                absent = missing(command, text)
                assert absent is None, f"{command.line} did not print {absent!r}, but\n{text}"


@pytest.mark.parametrize("tutorial", TUTORIALS, ids=lambda path: path.stem)
def test_no_block_escapes_the_test(tutorial: Path) -> None:
    blocks = BLOCK.findall(tutorial.read_text())
    assert len(blocks) == tutorial.read_text().count("```") / 2
    assert [block for block in blocks if not block[1] and block[0] != "console"] == []


def test_there_are_twelve_and_each_shows_output() -> None:
    assert len(TUTORIALS) == 12
    for tutorial in TUTORIALS:
        sessions = [step for step in steps(tutorial.read_text()) if isinstance(step, list)]
        assert sum(len(parts(command)) for each in sessions for command in each) >= 10, tutorial


def test_a_line_that_was_not_printed_is_missed() -> None:
    command = Command("delaylab show", ["│ user RTT │ 1.20 ms / – │", "…", "dataset  here"])
    assert missing(command, "│ user RTT │   86.0 µs / 91 µs │\nother\ndataset here\n") is None
    assert missing(command, "│ kernel RTT │ 1.20 ms / 2.0 ms │\ndataset here\n") is not None
    assert missing(command, "dataset here\n│ user RTT │ 1.20 ms / 2.0 ms │\n") is not None


def test_lines_of_a_busy_machine_are_left_out() -> None:
    command = Command("delaylab link show", ["b-r   b     delay=12ms", "b-r: the network takes …"])
    paused = "because the link engine of host rome paused once, for 3.9 ms at most (throttled)"
    between = f"b-r b delay=12ms\nnot held (b-r), {paused}\nb-r: the network takes 3 µs\n"
    assert missing(command, between) is None
    lost = "b-r b delay=12ms\nb-r (b to r): not held, because 3 frames were lost\nb-r: the network"
    assert missing(command, lost) is not None


def test_a_command_that_fails_is_noticed(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="false: exit code 1"):
        printed([Command("echo a"), Command("false"), Command("echo b")], tmp_path)
