"""Programs of containers, replayed with the files that were kept of the container."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from delaylab.lab import copies
from delaylab.lab.start import temporary
from delaylab.replaying.record import FILES, LOG
from delaylab.resolve.resolve import lab_from_data
from tests.doing.conftest import (
    DELAYLAB,
    Run,
    as_json,
    only_line,
    open_files,
    own_run_directory,
    skip_unless_runnable,
)
from tests.doing.replay.test_replay import (
    PACKETS,
    SOURCE,
    calls,
    ends_well,
    outlives_its_start,
    recorder,
    send,
    state,
)
from tests.waiting import wait_until

pytestmark = pytest.mark.root
INSIDE = "/opt/fragile"
"""The program's path, which no other system than the container has."""


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("daemon") / "fragile"
    subprocess.run(["cc", "-g", "-O0", "-pthread", "-o", made, SOURCE], check=True)
    return made


def crash(kind: str, daemon: Path, folder: Path) -> Path:
    """Record the crash of a program that only a container has."""
    skip_unless_runnable(kind)
    run = f"if [ -x {INSIDE} ]; then exec {INSIDE}; fi; echo ready; exec sleep 999"
    start = [{"run": run, "name": "fragile", "ready": {"prints": "ready"}}]
    nodes = {"one": {"kind": kind, "start": start}, "other": {}}
    links = [{"between": ["one", "other"], "name": "lan"}]
    spec = lab_from_data({"lab": "contained", "nodes": nodes, "links": links})
    with own_run_directory(), temporary(spec) as running:
        copies.send(running, daemon, "one", INSIDE)
        with recorder(running, folder) as process:
            outlives_its_start(running)
            assert len(send(running, *PACKETS)) == len(PACKETS) - 1
            ends_well(process)
        assert state(running).how == "ended by signal 11"
    return folder


@pytest.fixture(scope="module")
def contained(daemon: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return crash("lxc", daemon, tmp_path_factory.mktemp("contained") / "recording")


def assert_equal(delaylab: Run, recording: Path) -> None:
    assert not Path(INSIDE).exists()
    done = as_json(delaylab("replay", str(recording), "--json"))
    assert (done["how"], done["end"]) == ("equal", "end by signal 11")
    names = [name for _, name in calls(delaylab, recording)]
    assert names.count("sendto") == len(PACKETS) - 1
    assert done["outputs"] == names.count("sendto") + names.count("write")


def test_a_container_s_program_is_replayed_with_its_own_files(
    contained: Path, delaylab: Run
) -> None:
    assert_equal(delaylab, contained)
    kept = {path.name for path in (contained / FILES).rglob("*") if path.is_file()}
    assert {"fragile", "libc.so.6", "ld-linux-x86-64.so.2"} <= kept


@pytest.mark.slow
def test_a_program_of_a_docker_container_is_replayed(
    daemon: Path, tmp_path: Path, delaylab: Run
) -> None:
    assert_equal(delaylab, crash("docker", daemon, tmp_path / "recording"))


@pytest.mark.skipif(shutil.which("gdb") is None, reason="gdb is not installed")
def test_a_debugger_gets_a_container_s_program(contained: Path, delaylab: Run) -> None:
    listed = delaylab("replay", str(contained), "--calls").stdout.splitlines()
    packets = [line.split()[0] for line in listed if " recvfrom " in line]

    def memory_before(call: str) -> str:
        argv = ["replay", str(contained), "--gdb", "--until", call]
        said = delaylab(*argv, "--", "-batch", "-ex", "print memory").stdout
        (value,) = [line for line in said.splitlines() if line.startswith("$1 = ")]
        return value

    assert '"fine"' in memory_before(packets[0])
    assert '"fine"' not in memory_before(packets[-1])


def test_other_files_than_the_recorded_ones_are_refused(
    contained: Path, tmp_path: Path, delaylab: Run
) -> None:
    copy = shutil.copytree(contained, tmp_path / "copy")
    program = copy / FILES / INSIDE.lstrip("/")
    subprocess.run(["cc", "-O2", "-pthread", "-o", program, SOURCE], check=True)
    said = only_line(delaylab("replay", str(copy), code=1).stderr)
    assert f"{INSIDE} is not as it was recorded: (program) is another one" in said
    program.write_text("nothing")
    said = only_line(delaylab("replay", str(copy), code=1).stderr)
    assert f"{INSIDE} cannot be run with its files alone: run {INSIDE}: " in said
    program.unlink()
    said = only_line(delaylab("replay", str(copy), code=2).stderr)
    assert f"the recorded program '{INSIDE}' is not in it" in said


def processes_of(recording: Path) -> list[int]:
    """Return the processes that have a recording's log open."""
    return [pid for pid, file in open_files() if file == recording / LOG]


def test_a_killed_replay_leaves_nothing(
    contained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moments = random.Random(38)
    # Another run of the tests may replay at this moment.
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    for _ in range(8):
        argv = [str(DELAYLAB), "replay", str(contained)]
        with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            # Most of the time passes before the program runs; some rounds end before the kill.
            wait_until(lambda: process.poll() is not None or bool(processes_of(contained)))
            try:
                process.wait(moments.uniform(0, 0.03))
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
        wait_until(lambda: not processes_of(contained))
    # Other tests mount, too: only what has the recording's path is of its replays.
    assert str(contained) not in Path("/proc/self/mountinfo").read_text()
    assert list(tmp_path.glob("delaylab-replay*")) == []
