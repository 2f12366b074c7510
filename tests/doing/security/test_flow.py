"""A command that does not read, or a reader that does not, holds the other side up, not memory."""

from __future__ import annotations

import os
import select
import signal
import subprocess

import pytest

from delaylab.kinds import KINDS
from delaylab.machines import LOCAL
from tests.doing.conftest import DELAYLAB, Run, Up, skip_unless_runnable
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.root
MEBIBYTE = 1 << 20
QUIET_S = 1.0
"""A pipe that takes nothing for so long is taken to be full for good."""
AT_MOST = MEBIBYTE
"""Pipes on both sides, and the window between."""
KINDS_TRIED = ("netns", "lxc", "docker", "uml")


def lab() -> str:
    """A lab with a node of each kind that this machine can run, which all tests share."""
    kinds = [kind for kind in KINDS_TRIED if KINDS[kind].can_run(LOCAL.rights(), False) is None]
    nodes = ", ".join(f"{kind}: {{kind: {kind}}}" for kind in kinds)
    return (
        f"lab: flow\nnodes: {{{nodes}, far: {{}}}}\nlinks: [{{join: [{', '.join(kinds)}, far]}}]\n"
    )


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
def test_input_waits_for_a_command_that_does_not_read(shared_up: Up, kind: str) -> None:
    skip_unless_runnable(kind)
    shared_up(lab())
    words = [str(DELAYLAB), "exec", kind, "--", "sh", "-c", "echo up; exec sleep 1000"]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        assert poured_into(process.stdin.fileno()) < AT_MOST
        # Orders still reach it past the input that waits.
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_S) == 128 + signal.SIGINT
        process.stdin.close()


@pytest.mark.parametrize("kind", KINDS_TRIED)
def test_all_input_reaches_a_command_that_reads(delaylab: Run, shared_up: Up, kind: str) -> None:
    skip_unless_runnable(kind)
    shared_up(lab())
    text = "".join(f"{number}\n" for number in range(500_000))
    done = delaylab("exec", kind, "--", "cat", input=text)
    assert done.stdout == text
    done = delaylab("exec", kind, "--", "head", "-c", "5", input=text)
    assert done.stdout == text[:5]


@pytest.mark.parametrize("kind", KINDS_TRIED)
def test_output_waits_for_a_reader(shared_up: Up, kind: str) -> None:
    """While nobody reads, the command in the node is kept from writing more."""
    skip_unless_runnable(kind)
    shared_up(lab())
    words = [str(DELAYLAB), "exec", kind, "--", "cat", "/dev/zero"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read(1) == b"\0"
        before = written_inside(kind)
        # Nobody reads: what is under way comes to rest.
        assert select.select([process.stderr], [], [], QUIET_S)[0] == []
        after = written_inside(kind)
        assert select.select([process.stderr], [], [], QUIET_S)[0] == []
        assert written_inside(kind) == after
        assert after < 8 * MEBIBYTE, before
        process.send_signal(signal.SIGINT)
        rest = len(process.stdout.read())
        assert rest < 8 * MEBIBYTE
        assert process.wait(PATIENCE_S) == 128 + signal.SIGINT


def written_inside(node: str) -> int:
    """Return the bytes that the command in the node has written so far (proc_pid_io(5))."""
    script = "for p in /proc/[0-9]*; do [ \"$(tr '\\0' ' ' <$p/cmdline)\" = 'cat /dev/zero ' ]"
    script += " && grep ^wchar $p/io; done 2>/dev/null | head -n 1"
    words = [str(DELAYLAB), "exec", node, "--", "sh", "-c", script]
    said = subprocess.run(words, capture_output=True, text=True, check=False).stdout
    return int(said.split()[1])
