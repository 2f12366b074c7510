"""A file in pieces: without holes, as it was read while it changed, whatever its size says."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from delaylab.io import pieces
from delaylab.io.pieces import PIECE

LARGE = 1 << 40


@pytest.fixture
def file(tmp_path: Path) -> Iterator[int]:
    """A new file, open for reading and writing."""
    opened = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
    yield opened
    os.close(opened)


def test_holes_are_left_out_and_the_last_one_has_an_end(file: int) -> None:
    os.pwrite(file, b"begin", 0)
    os.pwrite(file, b"middle", LARGE // 2)
    os.ftruncate(file, LARGE)
    found = list(pieces.pieces(file))
    assert found[-1] == (LARGE, b"")
    assert sum(len(data) for _, data in found) <= 2 * PIECE
    (first, begin), (second, middle), _ = found
    assert (first, begin.rstrip(b"\0")) == (0, b"begin")
    assert middle[LARGE // 2 - second :].rstrip(b"\0") == b"middle"


@pytest.mark.parametrize("size", [0, 1, 5000, PIECE, 3 * PIECE])
@pytest.mark.parametrize("content", [b"\0", b"x"])
def test_pieces_make_the_whole(file: int, size: int, content: bytes) -> None:
    os.pwrite(file, content * size, 0)
    os.lseek(file, 0, os.SEEK_SET)
    assert b"".join(data for _, data in pieces.pieces(file)) == content * size


def test_a_hole_alone_is_one_empty_piece(file: int) -> None:
    os.ftruncate(file, LARGE)
    assert list(pieces.pieces(file)) == [(LARGE, b"")]


def test_a_file_system_that_knows_of_no_holes_has_its_zeros_left_out(
    file: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.pwrite(file, b"x" * PIECE, 2 * PIECE)
    os.ftruncate(file, 4 * PIECE)
    monkeypatch.setattr(pieces, "data_of", lambda _, at, most: (at, most))
    found = list(pieces.pieces(file))
    assert found == [(2 * PIECE, b"x" * PIECE), (4 * PIECE, b"")]


@pytest.mark.parametrize("hole", [False, True])
def test_a_file_that_becomes_shorter_is_as_it_was_read(file: int, hole: bool) -> None:
    os.pwrite(file, b"x" * 3 * PIECE, 0)
    if hole:
        os.ftruncate(file, LARGE)
    found = pieces.pieces(file)
    assert next(found) == (0, b"x" * PIECE)
    os.ftruncate(file, PIECE + 10)
    assert list(found) == [(PIECE, b"x" * 10)]


def test_a_file_that_grows_is_read_as_far_as_it_was(file: int) -> None:
    os.pwrite(file, b"x" * (PIECE + 10), 0)
    found = pieces.pieces(file)
    assert next(found) == (0, b"x" * PIECE)
    os.pwrite(file, b"y" * PIECE, PIECE + 10)
    assert list(found) == [(PIECE, b"x" * 10)]


@pytest.mark.parametrize("path", ["/proc/version", "/sys/kernel/mm/transparent_hugepage/enabled"])
def test_a_file_whose_size_is_not_that_of_its_content_is_read_to_its_end(path: str) -> None:
    if not Path(path).exists():
        pytest.skip(f"this kernel has no {path}")
    expected = Path(path).read_bytes()
    assert expected
    opened = os.open(path, os.O_RDONLY)
    assert list(pieces.pieces(opened)) == [(0, expected)]
    os.close(opened)


def test_a_file_without_a_size_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "MOST_UNSIZED", 3 * PIECE)
    endless = os.open("/dev/zero", os.O_RDONLY)
    with pytest.raises(OSError, match="has no size"):
        list(pieces.pieces(endless))
    os.close(endless)
