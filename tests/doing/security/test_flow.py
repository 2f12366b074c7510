"""A command that does not read, or a reader that does not, holds the other side up, not memory."""

from __future__ import annotations

import os
import select
import signal
import subprocess
from pathlib import Path

import pytest

from tests.doing.conftest import DELAYLAB, Run, Up, skip_unless_runnable

pytestmark = pytest.mark.root
MEBIBYTE = 1 << 20
QUIET_S = 1.0
"""A pipe that takes nothing for so long is taken to be full for good."""
AT_MOST = MEBIBYTE
"""Pipes on both sides, and the window between."""
KINDS_TRIED = ("netns", "lxc", "docker", "uml")


def lab_of(kind: str) -> str:
    skip_unless_runnable(kind)
    nodes = f"nodes: {{box: {{kind: {kind}}}, far: {{}}}}"
    return f"lab: flow\n{nodes}\nlinks: [{{between: [box, far]}}]\n"


def poured_into(pipe: int) -> int:
    """Write until nobody takes more; how much was taken."""
    os.set_blocking(pipe, False)
    taken = 0
    while select.select([], [pipe], [], QUIET_S)[1]:
        try:
            taken += os.write(pipe, bytes(64 << 10))
        except BlockingIOError:
            continue
        assert taken < 64 * MEBIBYTE, "it takes everything"
    return taken


@pytest.mark.parametrize("kind", KINDS_TRIED)
def test_input_waits_for_a_command_that_does_not_read(up: Up, kind: str) -> None:
    up(lab_of(kind))
    words = [str(DELAYLAB), "exec", "box", "--", "sh", "-c", "echo up; exec sleep 1000"]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        assert poured_into(process.stdin.fileno()) < AT_MOST
        # Orders still reach it past the input that waits.
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 128 + signal.SIGINT
        process.stdin.close()


@pytest.mark.parametrize("kind", KINDS_TRIED)
def test_all_input_reaches_a_command_that_reads(
    delaylab: Run, up: Up, tmp_path: Path, kind: str
) -> None:
    up(lab_of(kind))
    text = "".join(f"{number}\n" for number in range(500_000))
    done = delaylab("exec", "box", "--", "cat", input=text)
    assert done.stdout == text
    done = delaylab("exec", "box", "--", "head", "-c", "5", input=text)
    assert done.stdout == text[:5]


@pytest.mark.parametrize("kind", KINDS_TRIED)
def test_output_waits_for_a_reader(up: Up, kind: str) -> None:
    """While nobody reads, the command in the node is kept from writing more."""
    name = up(lab_of(kind))
    words = [str(DELAYLAB), "exec", "box", "--", "cat", "/dev/zero"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read(1) == b"\0"
        before = written_inside(name)
        # Nobody reads: what is under way comes to rest.
        assert select.select([process.stderr], [], [], QUIET_S)[0] == []
        after = written_inside(name)
        assert select.select([process.stderr], [], [], QUIET_S)[0] == []
        assert written_inside(name) == after
        assert after < 8 * MEBIBYTE, before
        process.send_signal(signal.SIGINT)
        rest = len(process.stdout.read())
        assert rest < 8 * MEBIBYTE
        assert process.wait(20) == 128 + signal.SIGINT


def written_inside(name: str) -> int:
    """Return the bytes that the command in the node has written so far (proc_pid_io(5))."""
    script = "for p in /proc/[0-9]*; do [ \"$(tr '\\0' ' ' <$p/cmdline)\" = 'cat /dev/zero ' ]"
    script += " && grep ^wchar $p/io; done 2>/dev/null | head -n 1"
    words = [str(DELAYLAB), "exec", "box", "--", "sh", "-c", script]
    said = subprocess.run(words, capture_output=True, text=True, check=False).stdout
    return int(said.split()[1])
