"""Machines whose shell, limits or answers are odd: each is used, or named with what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.doing.conftest import only_line
from tests.doing.machines.ssh_machines import LAB, NEEDED, Lan, machines, pings, two

__all__ = ["machines", "two"]
pytestmark = NEEDED
KEYS = "/root/.ssh/authorized_keys"
RUN = 'eval \\"$SSH_ORIGINAL_COMMAND\\"'
"""The command that ssh was called with, as a shell that a key names runs it."""
MARK = "delaylab-machine"
MANY = """\
lab: pair
machines: {m1: {ssh: m1}, m2: {ssh: m2}}
hosts: {h1: {machine: m1}, h2: {machine: m2}}
nodes: {a: {host: h1}, b: {host: h2, count: 40, start: [sleep 1000]}}
links: [{join: [a, b], name: lan}]
"""


@contextmanager
def shell(two: Lan, command: str) -> Iterator[None]:
    """Have sshd on m2 start this command in place of a shell (sshd(8), `command` of a key)."""
    plain = two.on("m2", "cat", KEYS)
    two.on("m2", "rm", "-rf", "/root/.cache/delaylab")
    two.on("m2", "sh", "-c", f"cat > {KEYS} <<'END'\ncommand=\"{command}\" {plain}END")
    try:
        yield
    finally:
        two.on("m2", "sh", "-c", f"cat > {KEYS} <<'END'\n{plain}END")


def test_a_shell_that_sets_its_terminals_title_is_no_other_architecture(two: Lan) -> None:
    with shell(two, f"printf '\\\\033]0;title\\\\007'; {RUN}"):
        two.up(LAB)
        assert pings(two, "a", "b.wan") >= 20
        two.delaylab("down")
    two.wait_until_gone()


@pytest.mark.parametrize(
    ("command", "why", "fix"),
    [
        (f"ulimit -f 64; {RUN}", "cannot be put there", "64 KiB there (ulimit -f): raise it"),
        # Each says something and then nothing, but its connection lives.
        (
            f"echo {MARK} Linux x86_64; echo {MARK} failed; sleep 600",
            "cannot be put there",
            "make room",
        ),
        ("exec >&- 2>&-; sleep 600", "cannot be reached", ""),
        (f"echo {MARK} Linux x86_64; exec >&- 2>&-; sleep 600", "cannot be reached", ""),
    ],
)
def test_a_machine_that_does_not_answer_as_it_should_is_one_line(
    two: Lan, command: str, why: str, fix: str
) -> None:
    with shell(two, command):
        said = only_line(two.up(LAB, code=3 if fix else 1))
    assert said.startswith("delaylab: machine m2: "), said
    assert why in said
    assert fix in said
    two.wait_until_gone()


def test_programs_that_cannot_be_run_are_no_lack_of_room(two: Lan) -> None:
    two.on("m2", "rm", "-rf", "/root/.cache/delaylab")
    two.on("m2", "mkdir", "-p", "/root/.cache")
    two.on("m2", "mount", "-t", "tmpfs", "-o", "noexec", "none", "/root/.cache")
    try:
        said = only_line(two.up(LAB, code=3))
    finally:
        two.on("m2", "umount", "/root/.cache")
    assert "set XDG_CACHE_HOME there" in said
    assert "noexec" in said


@pytest.mark.parametrize("files", [12, 20, 32])
def test_a_machine_of_few_open_files_is_used_or_named(two: Lan, files: int) -> None:
    """Each agent there takes some; `up` needs a session with each node that starts programs."""
    with shell(two, f"ulimit -n {files}; {RUN}"):
        said = two.up(MANY, code=1)
        assert only_line(said).startswith("delaylab: "), said
        assert "files" in said
    two.wait_until_gone()
