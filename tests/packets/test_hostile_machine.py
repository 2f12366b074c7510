"""A machine that is reached by ssh may send anything: a command ends with one line, no more."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from delaylab.agent.frames import Frame, FrameKind
from delaylab.errors import DelaylabError
from delaylab.machines import ssh as ssh_machine
from delaylab.machines.reach import Reach
from delaylab.machines.ssh import SshMachine

GREETING = f"delaylab-machine Linux {os.uname().machine}\ndelaylab-machine there\n".encode()
PLAY = """\
#!{python}
import os
greeting, answers = (open({script!r} + end, "rb").read() for end in (".greeting", ".answers"))
os.write(1, greeting)
for number in range({most}):
    # A session has been opened, and asks something.
    if not os.read(0, 65536):
        break
    os.write(1, answers)
"""
"""The machine: it answers whatever is asked with the same bytes."""


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the beginning of the names of the files with what the machine sends."""
    script = tmp_path / "script"
    ssh = tmp_path / "ssh"
    ssh.write_text(PLAY.format(python=sys.executable, script=str(script), most=1000))
    ssh.chmod(ssh.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(ssh_machine, "ANSWER_S", 0.3)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return script


def asked(script: Path, greeting: bytes, answers: bytes = b"") -> str:
    """Ask a machine for its labs and its facts; return what a user is told."""
    script.with_name("script.greeting").write_bytes(greeting)
    script.with_name("script.answers").write_bytes(answers)
    machine = SshMachine("m1", Reach(ssh="m1"))
    try:
        machine.labs()
        machine.rights()
    except DelaylabError as error:
        return str(error)
    finally:
        machine.close()
    return ""


def frame(channel: int, message: Any, kind: FrameKind = FrameKind.MESSAGE) -> bytes:
    payload = message if isinstance(message, bytes) else json.dumps(message).encode()
    return Frame(kind, payload, channel).encode()


FACTS = {
    **dict.fromkeys(("identity", "hostname", "kernel", "cpu", "run_directory", "connection"), "x"),
    **dict.fromkeys(("user", "memory_bytes", "available_bytes", "free_bytes"), 0),
    **{"capabilities": "zz", "cpus": "9-", "lacking": [], "labs": {"x": 1}},
}


def test_a_shell_that_prints_first_is_passed_over(hostile: Path) -> None:
    said = asked(hostile, b"Welcome!\n\n" + GREETING, b"".join(each_channel({"done": FACTS})))
    assert "sent malformed capabilities" in said, said


def each_channel(message: Any) -> list[bytes]:
    return [frame(channel, message) for channel in (1, 2, 3)]


@pytest.mark.parametrize(
    ("greeting", "told"),
    [
        (b"delaylab-machine Linux riscv64\n", "it is Linux riscv64"),
        (b"delaylab-machine \x1b[2J\x07 x\n", r"it is \x1b[2J\x07 x"),
        (b"x" * 70_000 + b"\n" + GREETING, "its shell prints without end"),
    ],
    ids=range(3),
)
def test_a_greeting_that_is_none_is_one_line(hostile: Path, greeting: bytes, told: str) -> None:
    found = asked(hostile, greeting)
    assert told in found, found


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ({"done": {"labs": 7}}, "malformed answer"),
        ([1, 2], "malformed message"),
        (b"[" * 100_000, "malformed message"),
        ({"error": {"what": "a\x1b[2Jb", "why": "c\nd"}}, "a\x1b[2Jb"),
    ],
    ids=range(4),
)
def test_what_is_not_an_answer_is_one_line(hostile: Path, message: Any, told: str) -> None:
    found = asked(hostile, GREETING, b"".join(each_channel(message)))
    assert told in found, found
    # The command line prints every error as one printable line (`print_error`).


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(
        st.one_of(
            st.binary(max_size=40),
            st.builds(
                frame,
                st.integers(0, 3),
                st.one_of(
                    st.recursive(
                        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
                        lambda inner: (
                            st.lists(inner, max_size=3)
                            | st.dictionaries(
                                st.sampled_from(["done", "error", "event", "labs", "read", "x"]),
                                inner,
                                max_size=3,
                            )
                        ),
                        max_leaves=6,
                    ),
                    st.binary(max_size=30),
                ),
                st.sampled_from(FrameKind),
            ),
        ),
        min_size=1,
        max_size=6,
    )
)
def test_any_frames_end_the_command_or_are_passed_over(hostile: Path, sent: list[bytes]) -> None:
    """The machine answers, then closes: nothing but a DelaylabError comes of it."""
    play = hostile.parent / "ssh"
    play.write_text(PLAY.format(python=sys.executable, script=str(hostile), most=2))
    asked(hostile, GREETING, b"".join(sent))


def test_a_hostile_machine_leaves_no_process(hostile: Path) -> None:
    assert "machine m1" in asked(hostile, GREETING, b"\xff" * 64)
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    assert str(hostile.parent) not in listed.stdout
