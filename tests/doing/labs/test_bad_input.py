"""What goes wrong is one clear line and an exit code; nothing is left, nothing finished is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from delaylab_study.dataset import store
from delaylab_study.study.executor import TRIES
from tests.doing.conftest import DELAYLAB, Run, only_line, our_processes
from tests.doing.trials.test_study import STUDY
from tests.waiting import PATIENCE_S, wait_until_gone

pytestmark = pytest.mark.root
BAD_INPUT, FAILED, NOT_HERE = 2, 1, 3


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("count: 60", "cuont: 60", "study.yaml:21: unknown field 'cuont'; did you mean 'count'?"),
        ("join: [probe,", "join: [prob,", "study.yaml:11: the link joins 'prob'"),
        (
            "name: lan}",
            "name: lan, addresses: {probe: 10.1.0.1/24, noisy: 10.1.0.1/24, echo: 10.1.0.2/24}}",
            "both have the address 10.1.0.1",
        ),
        (
            "nodes.probe.kind: native",
            "nodes.prob.kind: native",
            "'nodes.prob.kind' leads to nothing",
        ),
        ("[network-adds-most]", "[network-adds-mots]", "no claim 'network-adds-mots'"),
    ],
)
def test_a_wrong_file(delaylab: Run, tmp_path: Path, old: str, new: str, says: str) -> None:
    assert old in STUDY
    (tmp_path / "study.yaml").write_text(STUDY.replace(old, new, 1))
    done = delaylab("run", "study.yaml", "--out", "out", code=BAD_INPUT)
    assert says in only_line(done.stderr)
    assert not (tmp_path / "out").exists()


def test_an_unknown_factor(delaylab: Run, tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(STUDY)
    done = delaylab("run", "study.yaml", "--only", "colour=red", code=BAD_INPUT)
    assert "no factor 'colour' (one of: environment, load)" in only_line(done.stderr)


def test_a_missing_tool(delaylab: Run, tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(STUDY)
    bare = tmp_path / "bin"
    bare.mkdir()
    done = delaylab("run", "study.yaml", "--out", "out", code=NOT_HERE, env={"PATH": str(bare)})
    line = only_line(done.stderr)
    assert "iperf3 stress-ng" in line
    assert "apt-get install" in line
    assert not (tmp_path / "out").exists()


def test_a_directory_that_is_in_use(delaylab: Run, tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(STUDY)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "notes.txt").write_text("mine")
    done = delaylab("run", "study.yaml", "--out", "out", code=BAD_INPUT)
    assert "is not empty" in only_line(done.stderr)
    assert (tmp_path / "out" / "notes.txt").read_text() == "mine"


def test_no_lab_is_up(delaylab: Run) -> None:
    assert "no lab is up" in only_line(delaylab("exec", "x", "--", "true", code=BAD_INPUT).stderr)
    assert "no lab 'x' is up" in only_line(delaylab("down", "x", code=BAD_INPUT).stderr)


def test_native_without_root(nobody: Run, tmp_path: Path) -> None:
    path = tmp_path / "here.yaml"
    path.write_text("lab: here\nnodes: {me: {kind: native}, far: {}}\nlinks: [{join: [me, far]}]\n")
    done = nobody("up", str(path), code=NOT_HERE)
    assert "run as root, or name a host in the lab file" in only_line(done.stderr)


@contextmanager
def running_study(folder: Path, *only: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """The study's long trials at rest, or those of some levels only, under way."""
    text = STUDY.replace("count: 60, interval: 4ms", "count: 300, interval: 10ms")
    (folder / "study.yaml").write_text(text)
    levels = [word for level in ("load=rest", *only) for word in ("--only", level)]
    process = subprocess.Popen(
        [str(DELAYLAB), "run", "study.yaml", "--out", "out", *levels],
        cwd=folder,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **environment},
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def lab_when_up(
    run_directory: Path, process: subprocess.Popen[str], broken: set[Path] | None = None
) -> Path:
    """The folder of the study's lab, once it is built; not one of those that are broken."""
    while True:
        assert process.poll() is None, process.communicate()
        built = {path.parent for path in run_directory.glob("*/lab.json")} - (broken or set())
        if built:
            return built.pop()
        time.sleep(0.01)  # without leaving the CPU, it would disturb the study


def agent_pid(folder: Path, agent: str) -> int:
    """An agent's pid, from the keeper's own record."""
    import json  # noqa: PLC0415

    keeper = json.loads((folder / "lab.json").read_text())["keeper"]
    return int(keeper["agents"][agent]["pid"])


def test_an_agent_killed_mid_run(tmp_path: Path, run_directory: Path) -> None:
    broken: set[Path] = set()
    with running_study(tmp_path) as process:
        for _ in range(TRIES):
            folder = lab_when_up(run_directory, process, broken)
            os.kill(agent_pid(folder, "host.target"), signal.SIGKILL)
            broken.add(folder)
        output, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == FAILED
    study = store.read_study(tmp_path / "out")
    failed = [trial for trial in study.trials if trial.status == "failed"]
    assert len(failed) == 1
    assert failed[0].reason
    assert "\n" not in failed[0].reason
    assert len(study.trials) == 3
    assert failed[0].id in output.replace("\n", "")
    assert our_processes(str(run_directory)) == []
    assert list(run_directory.iterdir()) == []


def test_a_trial_that_fails_once_is_tried_again(tmp_path: Path, run_directory: Path) -> None:
    with running_study(tmp_path, "environment=netns") as process:
        folder = lab_when_up(run_directory, process)
        os.kill(agent_pid(folder, "host.target"), signal.SIGKILL)
        process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0
    assert {trial.status for trial in store.read_study(tmp_path / "out").trials} == {"ok"}
    assert list(run_directory.iterdir()) == []


def test_an_interface_that_vanishes_mid_run(tmp_path: Path, run_directory: Path) -> None:
    broken: set[Path] = set()
    with running_study(tmp_path, "environment=netns") as process:
        for _ in range(TRIES):
            folder = lab_when_up(run_directory, process, broken)
            enter = ["nsenter", "--target", str(agent_pid(folder, "wire")), "--net"]
            subprocess.run([*enter, "ip", "link", "del", "target.lan"], check=True)
            broken.add(folder)
        process.communicate(timeout=PATIENCE_S)
    assert process.returncode == FAILED
    study = store.read_study(tmp_path / "out")
    (failed,) = [trial for trial in study.trials if trial.status == "failed"]
    assert failed.reason
    assert list(run_directory.iterdir()) == []


def test_a_full_disk_keeps_what_is_finished(delaylab: Run, tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(STUDY)
    small = tmp_path / "small"
    small.mkdir()
    if os.geteuid() != 0:
        pytest.skip("mounting a small disk needs root")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200k", "dl", str(small)], check=True)
    try:
        done = delaylab(
            "run", "study.yaml", "--out", "small/out", "--only", "load=rest", code=FAILED
        )
        line = done.stderr.strip().splitlines()[-1]
        assert "No space left" in line
        study = store.read_study(small / "out")
        assert {trial.status for trial in study.trials} <= {"ok"}
        assert not list((small / "out" / "trials").glob(".*"))
    finally:
        subprocess.run(["umount", str(small)], check=True)


def test_ctrl_c_leaves_nothing_and_says_how_to_go_on(tmp_path: Path, run_directory: Path) -> None:
    with running_study(tmp_path) as process:
        lab_when_up(run_directory, process)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert "delaylab run --resume out" in errors
    wait_until_gone(lambda: our_processes(str(run_directory)))


@pytest.mark.parametrize(
    ("out", "says"),
    [
        ("file", "file: cannot be written to: a file, not a folder"),
        ("file/below", "file: a file, not a folder"),
        ("/proc/none/below", "/proc/none/below: cannot be written to: /proc: No such file"),
    ],
)
def test_a_directory_that_cannot_be(delaylab: Run, tmp_path: Path, out: str, says: str) -> None:
    (tmp_path / "study.yaml").write_text(STUDY)
    (tmp_path / "file").write_text("mine")
    line = only_line(delaylab("run", "study.yaml", "--out", out, code=BAD_INPUT).stderr)
    assert says in line
    assert "make room" not in line
    assert (tmp_path / "file").read_text() == "mine"


def test_a_user_in_a_folder_that_it_may_not_enter_has_labs(nobody: Run, tmp_path: Path) -> None:
    """Such as root's home, for a program that became another user there."""
    if os.geteuid() != 0:
        pytest.skip("being in such a folder needs root")
    (tmp_path / "lab.yaml").write_text("lab: two\nnodes: {a: {}}\n")
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    for verb in (("up", str(tmp_path / "lab.yaml")), ("exec", "a", "--", "true"), ("down",)):
        nobody(*verb, cwd=closed)


def test_a_directory_that_the_user_may_not_write_to(nobody: Run, tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o555)
    line = only_line(nobody("run", "quickstart", "--out", str(closed / "x"), code=BAD_INPUT).stderr)
    assert f"{closed / 'x'}: cannot be written to: {closed}: Permission denied" in line
