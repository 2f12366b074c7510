"""A daemon that now and then stops reading its neighbours' packets: recorded, replayed, found."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.doing.conftest import DELAYLAB, Run, Up, as_json
from tests.waiting import PATIENCE_S, wait_until

pytestmark = pytest.mark.root
EXAMPLE = Path(__file__).parents[3] / "examples" / "deaf"
PROGRAM = "/tmp/hellod"
"""The program's path in the example."""
OF_A_DESCRIPTOR = 6
"""The bytes that a program gives to poll(2) for a descriptor: its number and its events."""


@dataclass(frozen=True)
class Call:
    """A recorded call, as `replay --calls` prints it."""

    number: int
    name: str
    given: int


@pytest.fixture
def recording(up: Up, delaylab: Run, tmp_path: Path) -> Path:
    """Flap a link until the router has lost the neighbour at its other link; its recording."""
    program, folder = tmp_path / "hellod", tmp_path / "deaf.recording"
    subprocess.run(["cc", "-g", "-o", program, EXAMPLE / "hellod.c"], check=True)
    up((EXAMPLE / "lab.yaml").read_text().replace(PROGRAM, str(program)))

    def printed(text: str) -> int:
        return delaylab("logs", "r").stdout.count(text)

    def goes_deaf() -> bool:
        """On a busy machine a neighbour may be lost for a moment: then no packets wait."""
        delaylab("link", "flap", "deaf", "west", "--for", "200ms")
        waiting = delaylab("exec", "r", "--", "ss", "-Hlun", "sport = :5520").stdout.split()
        return printed("east: lost b") > 0 and int(waiting[1]) > 0

    wait_until(lambda: printed("east: found b") > 0)
    before = printed("east: found b")
    argv = [str(DELAYLAB), "record", "deaf", "r", "-o", str(folder)]
    with subprocess.Popen(argv, stderr=subprocess.PIPE) as process:
        try:
            assert process.stderr is not None
            process.stderr.readline()  # once it is recorded
            wait_until(lambda: printed("east: found b") > before)
            wait_until(goes_deaf)
            assert "program hellod of r" in delaylab("ps").stdout, "it runs as if all were well"
            process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE_S) == 0
        finally:
            process.kill()
    return folder


def calls(delaylab: Run, folder: Path) -> list[Call]:
    lines = delaylab("replay", str(folder), "--calls").stdout.splitlines()
    words = [line.split() for line in lines]
    return [Call(int(each[0]), each[2], int(each[-2])) for each in words]


def said_by_gdb(delaylab: Run, folder: Path, until: Call, *commands: str) -> str:
    options = [word for command in commands for word in ("-ex", command)]
    argv = ["replay", str(folder), "--gdb", "--until", str(until.number), "--", "-batch", *options]
    return delaylab(*argv).stdout


def awaited(delaylab: Run, folder: Path, poll: Call) -> tuple[set[int], int]:
    """Return the descriptors that a call of poll(2) waits for, and that of the hello packets."""
    show = ("frame function run_loop", "print wanted[0]@count", "print hello_socket")
    said = said_by_gdb(delaylab, folder, poll, *show)
    hello = re.search(r"^\$2 = (\d+)$", said, re.MULTILINE)
    assert hello is not None, said
    return {int(each) for each in re.findall(r"fd = (\d+), events = 1,", said)}, int(hello[1])


def test_a_replay_finds_the_read_handler_that_is_not_posted(recording: Path, delaylab: Run) -> None:
    recorded = calls(delaylab, recording)
    done = as_json(delaylab("replay", str(recording), "--json"))
    assert (done["how"], done["calls"]) == ("equal", len(recorded))
    assert done["outputs"] == sum(call.name in ("sendto", "write") for call in recorded)

    # By the list alone: it waits for two descriptors until its last packet, and then for one.
    last = max(call.number for call in recorded if call.name == "recvmsg")
    (packet,) = [call for call in recorded if call.number == last]
    polls = [call for call in recorded if call.name == "poll"]
    before = [call for call in polls if call.number < last]
    after = [call for call in polls if call.number > last]
    assert {call.given for call in before} == {2 * OF_A_DESCRIPTOR}
    assert {call.given for call in after} == {OF_A_DESCRIPTOR}
    assert any(call.name == "sendto" for call in recorded if call.number > last), "it still speaks"

    if shutil.which("gdb") is None:
        pytest.skip("the list shows the fault; gdb, which shows its line, is not installed")
    # The loop takes the packet's descriptor off its list, and nothing puts it there again.
    waits, hello = awaited(delaylab, recording, before[-1])
    assert hello in waits
    assert awaited(delaylab, recording, after[0]) == (waits - {hello}, hello)
    # In the debugger: the packet came by an interface that waits for its carrier delay.
    steps = ("frame function receive", "finish", "next", "print *on", "next")
    said = said_by_gdb(delaylab, recording, packet, *steps)
    assert re.search(r'"west", index = \d+, is_enabled = 0', said), said
    assert re.search(r"^\d+\s+return; /\* of a wrong interface \*/$", said, re.MULTILINE), said
