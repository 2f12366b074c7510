"""Programs that are recorded in a lab and replayed without it."""

from __future__ import annotations

import functools
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from delaylab.agent.wire.programs import ProgramState
from delaylab.lab.programs.programs import states
from delaylab.lab.running import LiveLab
from delaylab.lab.start import temporary
from delaylab.replaying.record import ABOUT, LOG
from delaylab.resolve.lab import Lab
from delaylab.resolve.resolve import lab_from_data
from delaylab.verbs.execute import captured
from tests.doing.conftest import (
    DELAYLAB,
    Run,
    as_json,
    network_of,
    of_program,
    only_line,
    open_files,
    own_run_directory,
)
from tests.doing.labs.test_kill import command as process_name
from tests.waiting import PATIENCE_S, wait_until

pytestmark = pytest.mark.root
SOURCE = Path(__file__).parent / "fragile.c"
SEND = """\
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(5)
for word in sys.argv[1:]:
    s.sendto(word.encode(), ("one", 5000))
    if word not in ("use", "end"):
        print(s.recv(200).decode())
"""
PACKETS = ["one", "two", "three", "bad", "five", "six", "use"]


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The daemon that crashes at a packet because of an earlier one."""
    made = tmp_path_factory.mktemp("daemon") / "fragile"
    subprocess.run(["cc", "-g", "-O0", "-pthread", "-o", made, SOURCE], check=True)
    return made


def lab(run: str) -> Lab:
    start = [{"run": run, "name": "fragile", "ready": {"prints": "ready"}}]
    nodes = {"one": {"start": start}, "other": {}}
    links = [{"between": ["one", "other"], "name": "lan"}]
    return lab_from_data({"lab": "replays", "nodes": nodes, "links": links})


def state(running: LiveLab) -> ProgramState:
    (found,) = states(running, only={"one"})["one"]
    return found


def is_recorded(running: LiveLab) -> bool:
    """Return True if the daemon runs with the library that records in its memory."""
    for pid in of_program(running, "one", "fragile"):
        with suppress(OSError):  # it has ended meanwhile
            if "fragile.library" in Path(f"/proc/{pid}/maps").read_text():
                return True
    return False


@contextmanager
def recorder(running: LiveLab, folder: Path, *more: str) -> Iterator[subprocess.Popen[str]]:
    """Run `record` until the end of the block, which begins once the program is recorded."""
    argv = [str(DELAYLAB), "record", running.name, "one", "-o", str(folder), *more]
    process = subprocess.Popen(
        argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder.parent
    )
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        assert line.startswith("recording fragile of node one"), line
        yield process
    finally:
        process.kill()
        process.communicate()


def outlives_its_start(running: LiveLab) -> None:
    """Wait until the program's end would be its own: it is not started again then."""
    wait_until(lambda: time.time_ns() - state(running).began_ns > 1_100_000_000)


def ends_well(process: subprocess.Popen[str]) -> None:
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, err


def send(running: LiveLab, *words: str) -> list[str]:
    """Send packets to the daemon; return its answers."""
    code, out, err = captured(running, "other", ["python3", "-c", SEND, *words])
    assert code == 0, err
    return out.decode().splitlines()


def runs_anew(running: LiveLab, before: int) -> bool:
    now = state(running)
    return now.pid != before and not now.is_dead


def assert_nothing_left(running: LiveLab) -> None:
    left = [path for path in Path(running.folder).rglob("fragile.*") if path.is_file()]
    assert not [path.name for path in left if path.suffix in (".library", ".calls")]


@pytest.fixture(scope="module")
def crash(daemon: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The recording of the daemon's crash."""
    folder = tmp_path_factory.mktemp("crash") / "recording"
    with own_run_directory(), temporary(lab(f"exec {daemon}")) as running:
        with recorder(running, folder) as process:
            outlives_its_start(running)
            assert len(send(running, *PACKETS)) == len(PACKETS) - 1
            ends_well(process)
        assert state(running).how == "ended by signal 11"
        assert_nothing_left(running)
    return folder


def calls(delaylab: Run, folder: Path) -> list[tuple[int, str]]:
    """Return the numbers and names of recorded calls."""
    lines = (
        line.split() for line in delaylab("replay", str(folder), "--calls").stdout.splitlines()
    )
    return [(int(words[0]), words[2]) for words in lines]


def test_a_crash_is_replayed(crash: Path, delaylab: Run) -> None:
    done = as_json(delaylab("replay", str(crash), "--json"))
    recorded = calls(delaylab, crash)
    assert done == {
        "how": "equal",
        "calls": len(recorded),
        "outputs": sum(name in ("sendto", "write") for _, name in recorded),
        "end": "end by signal 11",
        "not_recorded": [],
        "cut": False,
    }
    assert sum(name == "sendto" for _, name in recorded) == len(PACKETS) - 1
    # The daemon's timer and its threads were at work, or the test shows less than it says.
    about = subprocess.run(
        [DELAYLAB.parent / "delaylab-agent", "calls", crash / LOG], capture_output=True, check=True
    )
    found = json.loads(about.stdout)
    assert found["signals"] > 0
    assert found["threads"] == 3


@pytest.mark.skipif(shutil.which("gdb") is None, reason="gdb is not installed")
def test_until_finds_the_packet_that_spoils_the_memory(crash: Path, delaylab: Run) -> None:
    packets = [number for number, name in calls(delaylab, crash) if name == "recvfrom"]

    def is_spoiled_before(call: int) -> bool:
        argv = ["replay", str(crash), "--gdb", "--until", str(call)]
        said = delaylab(*argv, "--", "-batch", "-ex", "print memory").stdout
        (value,) = [line for line in said.splitlines() if line.startswith("$1 = ")]
        return '"fine"' not in value

    # The first packet before which the memory is spoiled; the one before it is the cause.
    low, high = 0, len(packets) - 1
    assert is_spoiled_before(packets[high])
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if is_spoiled_before(packets[middle]) else (middle + 1, high)
    assert PACKETS[low - 1] == "bad"


def test_a_replay_stops_before_a_call(crash: Path, delaylab: Run) -> None:
    number, name = calls(delaylab, crash)[-1]
    said = delaylab("replay", str(crash), "--until", str(number)).stdout
    assert f"until: {number - 1} calls" in said
    assert f"stopped before call {number}: {name}" in said


def test_a_killed_recorder_leaves_the_program_running_as_before(
    daemon: Path, tmp_path: Path
) -> None:
    with temporary(lab(f"exec {daemon}")) as running:
        for number in (signal.SIGKILL, signal.SIGTERM):
            with recorder(running, tmp_path / "recording") as process:
                recorded = state(running)
                process.send_signal(number)
                process.wait(PATIENCE_S)
            wait_until(functools.partial(runs_anew, running, recorded.pid))
            assert not is_recorded(running)
            wait_until(lambda: not list(Path(running.folder).rglob("fragile.calls")))
            assert_nothing_left(running)
            assert send(running, "hello")[0].startswith("hello 1 ")
        assert not (tmp_path / "recording").exists()


def test_a_recording_ends_with_its_time_by_ctrl_c_and_with_the_program(
    daemon: Path, tmp_path: Path, delaylab: Run
) -> None:
    with temporary(lab(f"exec {daemon}")) as running:
        with recorder(running, tmp_path / "first", "--duration", "300ms") as process:
            ends_well(process)
        with recorder(running, tmp_path / "second") as process:
            assert send(running, "hello")[0].startswith("hello 1 ")
            process.send_signal(signal.SIGINT)
            ends_well(process)
        assert not state(running).is_dead
        with recorder(running, tmp_path / "third") as process:
            outlives_its_start(running)
            send(running, "one", "end")
            ends_well(process)
        assert state(running).how == "ended with exit code 7"
    ends = {"first": "the end of the log", "second": "the end of the log"}
    for name, end in {**ends, "third": "end with exit code 7"}.items():
        done = as_json(delaylab("replay", str(tmp_path / name), "--json"))
        assert (done["how"], done["end"]) == ("equal", end)


def test_a_recording_that_ends_before_the_program_says_so(
    daemon: Path, tmp_path: Path, delaylab: Run
) -> None:
    """A call of 5 MiB ends it, as a log that is full does."""
    folder = tmp_path / "recording"
    with temporary(lab(f"exec {daemon}")) as running:
        with recorder(running, folder) as process:
            send(running, "hello")
            assert state(running).how == "running, recorded"
            send(running, "large", "hello")
            assert state(running).how.startswith(
                "running, its recording has ended: the log is full"
            )
            assert "its recording has ended" in delaylab("ps").stdout
            process.send_signal(signal.SIGINT)
            said, err = process.communicate(timeout=PATIENCE_S)
            assert process.returncode == 0, err
        assert "the recording ended before the program did" in said
        assert state(running).how == "running"
        assert_nothing_left(running)
    assert json.loads((folder / ABOUT).read_text())["cut"]
    done = as_json(delaylab("replay", str(folder), "--json"))
    assert (done["how"], done["end"]) == ("equal", "the end of the log")


def agents_that_record(running: LiveLab) -> list[int]:
    """Return the processes of the daemon's node, other than the daemon, that have its log open."""
    network = network_of(running.pid("node.one"))
    recording = [pid for pid, file in open_files() if file.name == "fragile.calls"]
    # Another run of the tests may record at this moment.
    return [
        pid for pid in recording if network_of(pid) == network and process_name(pid) != "fragile"
    ]


def test_a_killed_agent_leaves_the_program_running_as_before(daemon: Path, tmp_path: Path) -> None:
    with temporary(lab(f"exec {daemon}")) as running:
        with recorder(running, tmp_path / "recording") as process:
            recorded = state(running)
            (agent,) = agents_that_record(running)
            os.kill(agent, signal.SIGKILL)
            _, err = process.communicate(timeout=PATIENCE_S)
            assert process.returncode == 1
            assert only_line(err).startswith("delaylab: node one: ")
        assert runs_anew(running, recorded.pid)
        assert not is_recorded(running)
        assert_nothing_left(running)
        assert not (tmp_path / "recording").exists()
        with recorder(running, tmp_path / "again", "--duration", "200ms") as process:
            ends_well(process)


def test_what_comes_by_no_call_is_a_difference(daemon: Path, tmp_path: Path, delaylab: Run) -> None:
    # It leaks its secret at its second start: `/tmp` is the node's own.
    again = "/tmp/again"
    run = f"if [ -e {again} ]; then exec {daemon} secret; fi; touch {again}; echo ready; sleep 99"
    with temporary(lab(run)) as running, recorder(running, tmp_path / "recording") as process:
        ends_well(process)
    said = delaylab("replay", str(tmp_path / "recording"), code=1).stdout
    assert "differs: " in said
    assert "write of descriptor 2 with 32 bytes: from byte " in said


@pytest.fixture
def copy(crash: Path, tmp_path: Path) -> Path:
    return shutil.copytree(crash, tmp_path / "copy")


def refused(delaylab: Run, folder: Path, code: int) -> str:
    done = delaylab("replay", str(folder), code=code)
    return only_line(done.stderr)


def test_bad_recordings_are_refused(copy: Path, delaylab: Run) -> None:
    log = (copy / LOG).read_bytes()
    for bad, why in [
        (b"", "it is not a log of calls"),
        (b"#!/bin/sh\nnothing\n", "it is not a log of calls"),
        (log[:8] + b"\x09" + log[9:], "it is a log of version 9, and this program reads 1"),
        (log[: len(log) // 2], f"it has {len(log) // 2} bytes, and its beginning says {len(log)}"),
        (log[:16] + (24).to_bytes(8, "little"), "it has no calls"),
        (log[:-8] + b"\xff" * 8, "calls.log: byte "),
    ]:
        (copy / LOG).write_bytes(bad)
        assert why in refused(delaylab, copy, 1)
    (copy / LOG).unlink()
    assert "no such file" in refused(delaylab, copy, 2)
    (copy / ABOUT).write_text("{}")
    assert "is not a recording: version: Field required" in refused(delaylab, copy, 2)


def test_another_program_is_refused(
    crash: Path, daemon: Path, delaylab: Run, tmp_path: Path
) -> None:
    kept = tmp_path / "kept"
    daemon.rename(kept)
    try:
        said = refused(delaylab, crash, 2)
        assert f"the recorded program '{daemon}' is not on this machine" in said
        subprocess.run(["cc", "-O2", "-pthread", "-o", daemon, SOURCE], check=True)
        said = refused(delaylab, crash, 1)
        assert f"{daemon} is not as it was recorded: (program) is another one" in said
    finally:
        kept.replace(daemon)


GO = r'const char mark[] __attribute__((used)) = "\xff Go buildinf:";'
"""Source of the mark by which a Go program is known (Go's package debug/buildinfo)."""


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ("-static", "is linked statically: it loads no library"),
        ("-include go.h", "is a Go program: it makes system calls without the C library"),
    ],
)
def test_what_cannot_be_recorded_is_left_running(
    how: str, why: str, tmp_path: Path, delaylab: Run
) -> None:
    program = tmp_path / "program"
    (tmp_path / "go.h").write_text(GO)
    build = ["cc", *how.split(), f"-I{tmp_path}", "-pthread", "-o", str(program), str(SOURCE)]
    subprocess.run(build, check=True)
    with temporary(lab(f"exec {program}")) as running:
        before = state(running).began_ns
        said = only_line(delaylab("record", running.name, "one", code=1).stderr)
        assert f"{program} {why}" in said
        assert state(running).began_ns == before
        assert send(running, "hello")[0].startswith("hello 1 ")
        assert_nothing_left(running)


def test_what_is_not_there_is_not_recorded(daemon: Path, tmp_path: Path, delaylab: Run) -> None:
    with temporary(lab(f"exec {daemon}")) as running:
        assert "node 'one' has no program 'x'" in only_line(
            delaylab("record", running.name, "one", "--program", "x", code=2).stderr
        )
        assert "node 'other' has no programs" in only_line(
            delaylab("record", running.name, "other", code=2).stderr
        )
        (tmp_path / "there").mkdir()
        taken = delaylab("record", running.name, "one", "-o", str(tmp_path / "there"), code=2)
        assert "is there already" in only_line(taken.stderr)


def test_gdb_is_asked_for_by_one_line_if_it_is_missing(crash: Path, delaylab: Run) -> None:
    done = delaylab("replay", str(crash), "--gdb", code=3, env={"PATH": "/nonexistent"})
    assert "gdb is not installed" in only_line(done.stderr)
