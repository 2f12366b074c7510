"""Removal of folders of any depth."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from delaylab.io.removal import remove_tree


def test_a_tree_deeper_than_the_stack_is_removed(tmp_path: Path) -> None:
    depth = 2 * sys.getrecursionlimit()
    top = tmp_path / "top"
    top.mkdir()
    handle = os.open(top, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=handle)
        below = os.open("d", os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = below
    os.close(handle)
    remove_tree(top)
    assert not top.exists()


def test_names_in_use_links_and_files(tmp_path: Path) -> None:
    top, kept = tmp_path / "top", tmp_path / "kept"
    (top / "a/b/c").mkdir(parents=True)
    (top / ".delaylab-removed-0").write_text("")
    (top / ".delaylab-removed-1/full").mkdir(parents=True)
    kept.mkdir()
    (kept / "file").write_text("")
    (top / "a/b/link").symlink_to(kept)
    remove_tree(top)
    assert not top.exists()
    assert (kept / "file").exists()
    top.symlink_to(kept)
    with pytest.raises(OSError, match="Not a directory"):
        remove_tree(top)
    assert (kept / "file").exists()


def test_each_folder_is_moved_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tree of packages has a thousand folders: trying all names again for each took seconds."""
    top, rename = tmp_path / "top", os.rename
    moves: list[str] = []
    for number in range(50):
        (top / f"a/{number}/b/c").mkdir(parents=True)

    def counted(source: str, target: str, *, src_dir_fd: int, dst_dir_fd: int) -> None:
        moves.append(target)
        rename(source, target, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

    monkeypatch.setattr(os, "rename", counted)
    remove_tree(top)
    assert not top.exists()
    assert len(moves) == 2 * 50
