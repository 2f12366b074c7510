"""Sweeps touch labs and nothing else, whatever stands in the run directory."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.doing.conftest import Run, Up, only_line

pytestmark = pytest.mark.root
LAB = "lab: mine\nnodes: {a: {}, b: {}}\nlinks: [{between: [a, b]}]\n"
MARK = "delaylab lab 1\n"


def furnished(folder: Path) -> dict[str, str]:
    """Other things in the run directory; what each holds."""
    things = {
        "service/lock": "",
        "service/status": "precious",
        "service/sub.guest/file": "precious",
        "marked-elsewhere/lock": "something else\n",
        "binary/lock": "\x00\x01\x02",
        "long/lock": "x" * 100_000,
        "notes.txt": "precious",
        "lock": "precious",
        ".hidden/lock": "",
        "latin\udcff/lock": "",
    }
    for name, text in things.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True, parents=True, mode=0o700)
        path.write_text(text)
    (folder / "empty").mkdir(mode=0o700)
    (folder / "link").symlink_to(folder / "service")
    (folder / "dangling").symlink_to(folder / "nothing")
    (folder / "lock-is-a-link").mkdir(mode=0o700)
    (folder / "lock-is-a-link/lock").symlink_to(folder / "service/status")
    (folder / "lock-is-a-pipe").mkdir(mode=0o700)
    os.mkfifo(folder / "lock-is-a-pipe/lock")
    return things


def everything(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def test_other_things_stay_as_they_are(delaylab: Run, up: Up, run_directory: Path) -> None:
    things = furnished(run_directory)
    before = everything(run_directory)
    name = up(LAB)
    assert "a" in delaylab("ps").stdout
    delaylab("exec", "a", "--", "true")
    delaylab("down", name)
    assert everything(run_directory) == before
    done = delaylab("down", "--all")
    assert done.stderr == ""
    assert "not a lab's, left alone: " in done.stdout
    assert "service" in done.stdout
    assert everything(run_directory) == before
    assert {name: (run_directory / name).read_text() for name in things} == things


def test_a_lab_is_not_made_in_a_folder_of_other_things(delaylab: Run, run_directory: Path) -> None:
    (run_directory / "mine").mkdir(mode=0o700)
    (run_directory / "mine/status").write_text("precious")
    (run_directory / "lab.yaml").write_text(LAB)
    said = delaylab("up", str(run_directory / "lab.yaml"), code=1).stderr
    assert "it holds files that are not a lab's" in said
    assert (run_directory / "mine/status").read_text() == "precious"


def test_a_control_group_of_others_is_never_removed(delaylab: Run, run_directory: Path) -> None:
    top = Path("/sys/fs/cgroup/pids")
    if not top.is_dir() or os.geteuid() != 0:
        pytest.skip("needs control groups of version 1, and root")
    group = top / f"dl-test-{os.getpid()}"
    group.mkdir()
    try:
        stale, good = run_directory / "stale", run_directory / "good"
        for folder, lines in ((stale, f"{group}\n"), (good, "")):
            folder.mkdir(mode=0o700)
            (folder / "lock").write_text(MARK + lines)
            (folder / "lab.json").write_text("{}")
        done = delaylab("down", "--all", code=1)
        assert f"{stale}: its lock names {group}" in done.stderr
        assert len(done.stderr.splitlines()) == 1
        assert group.is_dir()
        assert not good.exists(), "what cannot be swept must not stop the rest"
        (run_directory / "lab.yaml").write_text(LAB)
        assert "left by a lab that was killed" in delaylab(
            "up", str(run_directory / "lab.yaml")
        ).stdout.replace("\n", " ")
    finally:
        group.rmdir()
        (run_directory / "stale/lock").unlink()
        (run_directory / "stale/lab.json").unlink()


def test_what_cannot_be_removed_is_named_and_stops_nothing(
    delaylab: Run, run_directory: Path, tmp_path: Path
) -> None:
    if os.geteuid() != 0:
        pytest.skip("mounting needs root")
    busy, good = run_directory / "busy", run_directory / "good"
    for folder in (busy, good):
        (folder / "node.a.guest/held").mkdir(parents=True)
        folder.chmod(0o700)
        (folder / "lock").write_text(MARK)
    held = busy / "node.a.guest/held"
    subprocess.run(["mount", "-t", "tmpfs", "dl", str(held)], check=True)
    try:
        done = delaylab("down", "--all", code=1)
        assert f"delaylab: cannot be removed: {busy}: " in done.stderr
        assert len(done.stderr.splitlines()) == 1
        assert not good.exists()
    finally:
        subprocess.run(["umount", str(held)], check=True)
    delaylab("down", "--all")
    assert not busy.exists()


DIG = """
import os, sys
os.chdir(sys.argv[1])
for _ in range(1500):
    os.mkdir("d")
    os.chdir("d")
"""
"""A program that makes folders deeper than a path can say, as a node can."""


def few_files() -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (128, 128))


def test_folders_of_any_depth_are_removed(
    delaylab: Run, tmp_path: Path, run_directory: Path
) -> None:
    """With fewer open files and less stack than levels, while the lab's keeper lives and after."""
    (tmp_path / "lab.yaml").write_text(LAB)
    delaylab("up", "lab.yaml", preexec_fn=few_files)
    killed = run_directory / "killed"
    for folder in (run_directory / "mine/node.a.guest", killed / "a.scp.work"):
        folder.mkdir(parents=True)
        subprocess.run([sys.executable, "-c", DIG, str(folder)], check=True)
    killed.chmod(0o700)
    (killed / "lock").write_text(MARK)
    delaylab("down", "mine", preexec_fn=few_files)
    assert list(run_directory.iterdir()) == []


def test_remains_of_one_lab_stop_no_other(
    delaylab: Run, tmp_path: Path, run_directory: Path
) -> None:
    """They are named with what to do, by `up` and by `down` of another lab; both succeed."""
    stale = run_directory / "stale"
    stale.mkdir(mode=0o700)
    (stale / "lock").write_text(MARK + "/etc\n")
    (tmp_path / "lab.yaml").write_text(LAB)
    remedy = "then: delaylab down --all; or remove it by hand"
    try:
        started = delaylab("up", "lab.yaml").stdout.replace("\n", " ")
        assert f"left by a lab that was killed: {stale}: " in started
        assert remedy in started
        done = delaylab("down", "mine")
        assert done.stdout == "down: mine\n"
        assert remedy in only_line(done.stderr)
        assert remedy in only_line(delaylab("down", "--all", code=1).stderr)
    finally:
        (stale / "lock").unlink()


def test_a_folder_half_made_or_half_removed_is_swept(delaylab: Run, run_directory: Path) -> None:
    """As keepers leave them that are killed between two steps."""
    (run_directory / ".delaylab-7-0").mkdir(mode=0o700)
    (run_directory / ".delaylab-8-0").mkdir(mode=0o700)
    (run_directory / ".delaylab-8-0/lock").write_text("")
    (run_directory / ".delaylab-9-1").mkdir(mode=0o700)
    (run_directory / ".delaylab-9-1/lock").write_text(MARK + "/sys/fs/cgroup/cpu/delaylab/x.1\n")
    delaylab("down", "--all")
    assert list(run_directory.iterdir()) == []


def test_a_full_disk_is_called_that(delaylab: Run, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("mounting a small disk needs root")
    small = tmp_path / "small"
    small.mkdir()
    # Room for the folder and its lock, and for no socket.
    options = "size=64k,nr_inodes=5,mode=700"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "dl", str(small)], check=True)
    (tmp_path / "lab.yaml").write_text(LAB)
    try:
        done = delaylab("up", str(tmp_path / "lab.yaml"), code=1, env={"DELAYLAB_RUN": str(small)})
        assert "No space left on device" in done.stderr
        assert "107" not in done.stderr
        assert "path" not in done.stderr
        assert list(small.iterdir()) == []
    finally:
        subprocess.run(["umount", str(small)], check=True)


def test_a_long_path_is_none_too_long(delaylab: Run, tmp_path: Path) -> None:
    folder = tmp_path / ("d" * 120)
    (tmp_path / "lab.yaml").write_text(LAB)
    env = {"DELAYLAB_RUN": str(folder)}
    delaylab("up", str(tmp_path / "lab.yaml"), env=env)
    assert delaylab("exec", "a", "--", "hostname", env=env).stdout == "a\n"
    delaylab("down", env=env)
    assert list(folder.iterdir()) == []
