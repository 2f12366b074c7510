"""Programs must not notice that they are recorded. What they print is compared."""

from __future__ import annotations

import functools
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from subprocess import DEVNULL, PIPE

import pytest

from delaylab.lab.programs.programs import output
from delaylab.lab.start import temporary
from tests.doing.conftest import DELAYLAB, Run, as_json, only_line
from tests.doing.replay.test_replay import (
    assert_nothing_left,
    calls,
    ends_well,
    is_recorded,
    lab,
    recorder,
    state,
)
from tests.waiting import PATIENCE_S, wait_until

pytestmark = pytest.mark.root
SOURCE = Path(__file__).parent / "unnoticed.c"
PYTHON = """\
import os, random, threading, time
print('ready', flush=True)
print(sorted(os.listdir('/proc/self/task')), random.random(), time.time(), flush=True)
threading.Event().wait()
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("program") / "unnoticed"
    subprocess.run(["cc", "-g", "-w", "-o", made, SOURCE], check=True)
    return made


def recorded(command: str, last: str, folder: Path) -> str:
    """Record a program until it has printed something; return what it printed."""
    with temporary(lab(f"exec {command}")) as running:
        with recorder(running, folder, "--duration", "1500ms") as process:
            # After what it printed before it was recorded.
            wait_until(lambda: output(running, "one", "fragile").decode().count(last) > 1)
            printed = output(running, "one", "fragile").decode()
            ends_well(process)
        assert state(running).how == "running"
    return printed


def replayed(delaylab: Run, folder: Path, not_recorded: Sequence[str] = ()) -> str:
    """Replay a recording; return what the program printed."""
    done = delaylab("replay", str(folder), "--json", timeout=60)
    found = as_json(done)
    assert (found["how"], found["not_recorded"]) == ("equal", list(not_recorded))
    names = [name for _, name in calls(delaylab, folder)]
    # What is printed is compared.
    assert found["outputs"] >= names.count("write") > 0
    assert isinstance(done.stderr, str)
    return done.stderr


def test_files_streams_and_the_machine_are_replayed(
    program: Path, tmp_path: Path, delaylab: Run
) -> None:
    folder = tmp_path / "recording"
    printed = recorded(f"{program} /tmp", "/unnoticed", folder)
    assert "descriptor 1, next 1, size 0\nlock 0\n" in printed
    assert "input is 0\n" in printed
    assert "back one\nlarge 6144000\n" in printed
    assert printed.endswith(replayed(delaylab, folder))


def test_what_is_not_recorded_is_said(program: Path, tmp_path: Path, delaylab: Run) -> None:
    folder = tmp_path / "recording"
    recorded(f"{program} /tmp more", "/unnoticed", folder)
    replayed(delaylab, folder, ["getifaddrs"])
    assert "; not recorded: getifaddrs" in delaylab("replay", str(folder)).stdout


def test_a_program_of_python_is_replayed(tmp_path: Path, delaylab: Run) -> None:
    source = tmp_path / "program.py"
    source.write_text(PYTHON)
    folder = tmp_path / "recording"
    printed = recorded(f"/usr/bin/python3 {source}", "]", folder)
    assert printed.endswith(replayed(delaylab, folder))


def test_a_program_that_dies_at_once_is_started_again(tmp_path: Path, delaylab: Run) -> None:
    """Without the library: that may be the cause of its death."""
    run = "echo ready; if grep -q fragile.library /proc/$$/maps; then exit 3; fi; exec sleep 999"
    with temporary(lab(run)) as running:
        said = delaylab("record", running.name, "one", "-o", str(tmp_path / "recording")).stdout
        assert "in its first second, and was started again without the library" in said
        assert state(running).how == "running"
        assert not is_recorded(running)


def only_one_runs(all_of: Sequence[subprocess.Popen[str]]) -> bool:
    return sum(each.poll() is None for each in all_of) <= 1


def test_one_of_several_records(tmp_path: Path) -> None:
    """The others are refused in one line, and remove no file of it."""
    with temporary(lab("echo ready; exec sleep 999")) as running:
        argv = [str(DELAYLAB), "record", running.name, "one", "-o"]
        for round_of in range(2):
            folders = [tmp_path / f"{round_of}-{each}" for each in range(3)]
            all_of = [
                subprocess.Popen([*argv, folder], stdout=DEVNULL, stderr=PIPE, text=True)
                for folder in folders
            ]
            wait_until(functools.partial(only_one_runs, all_of))
            (first,) = [each for each in all_of if each.poll() is None]
            wait_until(lambda: state(running).how == "running, recorded")
            first.send_signal(signal.SIGINT)
            for process, folder in zip(all_of, folders, strict=True):
                _, said = process.communicate(timeout=PATIENCE_S)
                assert folder.exists() == (process is first)
                assert process.returncode == int(process is not first), said
                assert process is first or "another command records it now" in only_line(said)
        assert state(running).how == "running"
        assert_nothing_left(running)
