"""Files that are stored on another machine arrive as they are, and only whole (`agent store`)."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from delaylab.agent.binary import agent_path
from delaylab.machines import archive

HOLE = 1 << 26
NAME = "own-1/file"


@pytest.fixture
def agent(tmp_path: Path) -> Path:
    """A copy of the agent in a folder of its own, beside which it stores files."""
    folder = tmp_path / "cache"
    folder.mkdir()
    return Path(shutil.copy(agent_path(), folder))


def store(agent: Path, content: bytes, name: str = NAME) -> tuple[int, str]:
    done = subprocess.run([agent, "store", name], input=content, capture_output=True, check=False)
    return done.returncode, done.stderr.decode()


def archived(path: Path) -> bytes:
    made = io.BytesIO()
    archive.write(path, made)
    return made.getvalue()


def state(root: Path) -> dict[str, tuple[int, int, int, object]]:
    """Return what a tree holds: modes, owners, and contents or targets."""
    found: dict[str, tuple[int, int, int, object]] = {}
    for path in [root, *root.rglob("*")]:
        about = path.lstat()
        content: object = path.readlink() if path.is_symlink() else None
        if path.is_file() and not path.is_symlink():
            content = path.read_bytes()
        key = path.relative_to(root).as_posix()
        found[key] = (about.st_mode, about.st_uid, about.st_gid, content)
    return found


def tree(root: Path) -> Path:
    """Make a tree with what root file systems have: links, modes, owners, names of any length."""
    (root / "etc").mkdir(parents=True)
    (root / "tmp").mkdir()
    (root / "tmp").chmod(0o1777)
    (root / "etc/program").write_bytes(b"#!/bin/sh\n")
    (root / "etc/program").chmod(0o4755)
    (root / "etc/same").hardlink_to(root / "etc/program")
    (root / "etc/link").symlink_to("/etc/none")
    (root / ("n" * 200)).write_bytes(b"x" * 1000)
    (root / "etc/empty").touch()
    if os.geteuid() == 0:
        os.chown(root / "etc/empty", 7, 8)
    return root


def test_a_tree_is_stored_as_it_is(agent: Path, tmp_path: Path) -> None:
    source = tree(tmp_path / "root")
    os.mkfifo(source / "etc/pipe")
    assert store(agent, archived(source)) == (0, "")
    (source / "etc/pipe").unlink()  # is left out
    stored = agent.parent / "stored" / NAME
    assert (agent.parent / "stored").stat().st_mode & 0o077 == 0  # nobody else may enter
    assert state(stored) == state(source)
    assert (stored / "etc/same").stat().st_ino == (stored / "etc/program").stat().st_ino


@pytest.mark.parametrize("pieces", [0, 1, 4, 5, 25, 60])
@pytest.mark.parametrize("ends_with_data", [False, True])
def test_of_a_sparse_file_only_the_data_is_sent(
    agent: Path, tmp_path: Path, pieces: int, ends_with_data: bool
) -> None:
    source = tmp_path / "disk"
    with source.open("wb") as file:
        for number in range(pieces):
            file.seek(number * (HOLE // 64))
            file.write(bytes([number + 1]) * 5000)
        file.truncate(HOLE)
        if ends_with_data:
            file.seek(HOLE - 3)
            file.write(b"end")
    if source.stat().st_blocks * 512 >= HOLE:
        pytest.skip("this file system has no sparse files")
    sent = archived(source)
    assert len(sent) < HOLE / 8
    assert store(agent, sent) == (0, "")
    stored = agent.parent / "stored" / NAME
    assert stored.read_bytes() == source.read_bytes()
    assert stored.stat().st_blocks * 512 < HOLE / 8


def test_a_sparse_file_may_be_larger_than_an_octal_number_of_a_header(
    agent: Path, tmp_path: Path
) -> None:
    source = tmp_path / "disk"
    with source.open("wb") as file:
        file.seek(9 << 30)
        file.write(b"data")
        file.truncate(10 << 30)
    if source.stat().st_blocks * 512 >= HOLE:
        pytest.skip("this file system has no sparse files")
    assert store(agent, archived(source)) == (0, "")
    stored = agent.parent / "stored" / NAME
    assert (stored.stat().st_size, stored.stat().st_blocks * 512 < HOLE) == (10 << 30, True)
    with stored.open("rb") as file:
        file.seek(9 << 30)
        assert file.read(5) == b"data\0"


def test_what_is_cut_off_is_not_stored(agent: Path, tmp_path: Path) -> None:
    whole = archived(tree(tmp_path / "root"))
    for length in (0, 100, 512, 3000, len(whole) // 2, whole.rindex(b"end")):
        code, said = store(agent, whole[:length])
        assert code == 1
        assert f"store {NAME}" in said
        assert not (agent.parent / "stored/own-1").exists()
        assert not (agent.parent / "stored/.partial").exists()


def test_names_lead_nowhere_else(agent: Path, tmp_path: Path) -> None:
    content = archived(tree(tmp_path / "root"))
    for name in ("x", "../x/y", "/x/y", "x/../y", ".x/y"):
        code, said = store(agent, content, name)
        assert code == 1
        assert "it is not of the form FOLDER/NAME" in said
