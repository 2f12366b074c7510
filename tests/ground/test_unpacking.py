"""Archives of a stranger: nothing leads out of the folder that they are unpacked into."""

from __future__ import annotations

import io
import itertools
import os
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from delaylab.io.tar_headers import OFFSET, binary, with_fields
from delaylab.lab import unpacking
from delaylab.lab.unpacking import MORE, ROOT, SMALL, Unfit, unpack

Member = tuple[str, bytes, str]
"""The name, type and target of a member; of a piece, its offset."""
NAMES = ("a", "b", "c")
FOLDER, LINK, FILE = tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.REGTYPE
CONTENT = b"evil"
READ_AT_ONCE = 1 << 20


def packed(members: list[Member]) -> bytes:
    made = bytearray()
    for name, kind, leads in members:
        info = tarfile.TarInfo(name)
        info.type, info.linkname = kind, leads if kind == LINK else ""
        content = CONTENT if kind in (FILE, MORE) else b""
        info.size = len(content)
        fields = [(OFFSET, binary(int(leads)))] if kind == MORE else []
        made += with_fields(info.tobuf(tarfile.GNU_FORMAT), fields)
        made += content + bytes(-len(content) % 512)
    return bytes(made) + bytes(1024)


def header(kind: bytes, size: int, name: str = ROOT) -> bytes:
    info = tarfile.TarInfo(name)
    info.type, info.size = kind, size
    return info.tobuf(tarfile.GNU_FORMAT)


def piece(at: int, size: int = 0, name: str = ROOT) -> bytes:
    """The header of a piece of a file."""
    return with_fields(header(MORE, size, name), [(OFFSET, binary(at))])


def deep(depth: int) -> list[Member]:
    """Folders of which each is in the one before it."""
    names = itertools.accumulate(["/d"] * depth, initial=ROOT)
    return [(name, FOLDER, "") for name in names]


def through_links(victim: str) -> list[Member]:
    """A link up to the root, and through it one that leads out, and through that one another."""
    at = f"{ROOT}/d/d/d/up"
    return [
        *deep(3),
        (at, LINK, "../../.."),
        (f"{at}/up2", LINK, f"../../../{victim}"),
        (f"{at}/up2/evil", LINK, "../../../etc/shadow"),
    ]


def snapshot(folder: Path) -> list[tuple[str, bytes | str]]:
    return [
        (str(path), str(path.readlink()) if path.is_symlink() else path.read_bytes())
        for path in sorted(folder.rglob("*"))
        if path.is_symlink() or path.is_file()
    ]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    folder = tmp_path / "outer" / "place"
    folder.mkdir(parents=True)
    return folder


def test_nothing_is_made_through_links_of_the_archive_itself(place: Path) -> None:
    victim = place.parent / "victim"
    victim.mkdir()
    with pytest.raises(Unfit, match="Not a directory"):
        unpack(io.BytesIO(packed(through_links("victim"))), place)
    assert list(victim.iterdir()) == []
    assert [path.name for path in place.parent.iterdir() if path != place] == ["victim"]


component = st.sampled_from([*NAMES, "..", "."])
target = st.builds(
    lambda parts, top: top + "/".join(parts),
    st.lists(component, min_size=1, max_size=4),
    st.sampled_from(["", "", "", "/"]),
)
inner = st.lists(st.sampled_from(NAMES), min_size=1, max_size=4).map(
    lambda parts: "/".join([ROOT, *parts])
)
members = st.lists(
    st.one_of(
        st.tuples(inner, st.just(FOLDER), st.just("")),
        st.tuples(inner, st.just(LINK), target),
        st.tuples(inner, st.just(FILE), st.just("")),
        st.tuples(inner, st.just(MORE), st.sampled_from(["0", "4", "4096"])),
    ),
    max_size=12,
)


@given(members)
@example([("copied/a", FOLDER, ""), ("copied/a/b", LINK, ".."), ("copied/a/b/c", LINK, "../..")])
@example([("copied/a", LINK, "b/.."), ("copied/b", LINK, "c"), ("copied/c", FOLDER, "")])
def test_no_link_that_stays_leads_out(members: list[Member]) -> None:
    """However names and links are combined, and also if the archive is refused in the middle."""
    with tempfile.TemporaryDirectory(prefix="dl-unpack-") as name:
        outer = Path(name).resolve()
        for each in NAMES:
            (outer / each).mkdir()
            (outer / each / "file").write_text("before")
        before = snapshot(outer)
        place = outer / "place"
        place.mkdir()
        try:
            unpack(io.BytesIO(packed([(ROOT, FOLDER, ""), *members])), place)
        except Unfit:
            pass
        else:
            links = [path for path in place.rglob("*") if path.is_symlink()]
            # Links that lead in circles lead nowhere.
            ends = [Path(os.path.realpath(path)) for path in links]
            assert all(end.is_relative_to(place / ROOT) for end in ends), ends
        assert [each for each in snapshot(outer) if f"{place}/" not in each[0]] == before


class Counting(io.RawIOBase):
    """An archive that goes on for ever, and how much of it was asked for."""

    def __init__(self, start: bytes, then: Iterator[bytes]) -> None:
        self._buffer, self._then, self.given = bytearray(start), then, 0

    def read(self, size: int = -1, /) -> bytes:
        while len(self._buffer) < size:
            self._buffer += next(self._then)
        taken = bytes(self._buffer[:size])
        del self._buffer[:size]
        self.given += len(taken)
        return taken


@pytest.mark.parametrize(
    "kind",
    [
        *(tarfile.GNUTYPE_LONGLINK, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_SPARSE),
        *(tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.CONTTYPE, b"V"),
    ],
)
@pytest.mark.parametrize("size", [64 << 30, -512])
def test_no_header_has_a_large_part_read_at_once(place: Path, kind: bytes, size: int) -> None:
    endless = Counting(header(kind, size), itertools.repeat(b"\1" * 512))
    with pytest.raises(Unfit):
        unpack(endless, place)
    assert endless.given < READ_AT_ONCE
    assert list(place.iterdir()) == []


def test_an_archive_without_an_end_is_refused(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacking, "MOST_ENTRIES", 100)
    files = (header(FILE, 0, f"{ROOT}/{number}") for number in itertools.count())
    with pytest.raises(Unfit, match="too many files"):
        unpack(Counting(header(FOLDER, 0), files), place)
    monkeypatch.setattr(unpacking, "MOST_NAMES", 1000)
    (place / ROOT).rename(place / "other")
    links = (
        header(tarfile.GNUTYPE_LONGLINK, 400)
        + b"x" * 400
        + bytes(112)
        + header(LINK, 0, f"{ROOT}/{number}")
        for number in itertools.count()
    )
    with pytest.raises(Unfit, match="too many files"):
        unpack(Counting(header(FOLDER, 0), links), place)


def test_only_a_file_is_taken_where_one_is_wanted(place: Path) -> None:
    with pytest.raises(Unfit, match="no file"):
        unpack(io.BytesIO(packed(deep(1))), place, only_a_file=True)
    assert list(place.iterdir()) == []
    assert unpack(io.BytesIO(packed([(ROOT, FILE, "")])), place, only_a_file=True) == []
    assert (place / ROOT).read_bytes() == b"evil"


def test_pieces_make_one_file_with_holes(place: Path) -> None:
    end, large = 1 << 40, 1 << 33
    archive = (
        *(header(FILE, 4), b"head".ljust(512, b"\0"), piece(large, 4), b"tail".ljust(512, b"\0")),
        *(piece(end), bytes(1024)),
    )
    assert unpack(io.BytesIO(b"".join(archive)), place) == []
    about = (place / ROOT).stat()
    assert (about.st_size, about.st_mode & 0o777) == (end, 0o644)
    assert about.st_blocks * 512 < 1 << 20
    with (place / ROOT).open("rb") as file:
        assert file.read(6) == b"head\0\0"
        file.seek(large)
        assert file.read(6) == b"tail\0\0"


@pytest.mark.parametrize(
    ("archive", "why"),
    [
        (piece(0, 4), "does not follow"),
        (header(FILE, 0) + piece(0, 0, f"{ROOT}/x"), "does not follow"),
        (header(FILE, 0) + piece(100) + piece(50), "does not follow"),
        (header(FOLDER, 0) + piece(0), "does not follow"),
        (header(FILE, 0) + piece(1 << 63), "has a size of"),
        (header(FILE, 0) + piece((1 << 44) - 3, 4), "has a size of"),
        (header(FILE, 0) + piece((1 << 87) + 5), "has a size of"),
        (header(FILE, 0) + header(MORE, 0), "no offset"),
        (header(FILE, 0) + piece(0, -512), "-512 bytes"),
    ],
)
def test_a_piece_that_is_not_of_its_file_is_refused(place: Path, archive: bytes, why: str) -> None:
    """Nor is one taken that claims 8 EiB."""
    with pytest.raises(Unfit, match=why):
        unpack(io.BytesIO(archive + bytes(2048)), place)
    assert sum(path.lstat().st_blocks for path in place.rglob("*") if path.is_file()) == 0


def test_a_file_of_empty_pieces_has_an_end(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacking, "MOST_ENTRIES", 100)
    empty = (piece(0) for _ in itertools.count())
    with pytest.raises(Unfit, match="too many files"):
        unpack(Counting(header(FILE, 0), empty), place)
    (place / ROOT).unlink()
    large = b"".join(piece(at * SMALL, SMALL) + b"x" * SMALL for at in range(200))
    assert unpack(io.BytesIO(header(FILE, 0) + large + bytes(1024)), place) == []
    assert (place / ROOT).stat().st_size == 200 * SMALL


@pytest.mark.parametrize("end", [piece(1 << 33), piece((1 << 32) - 1, 2)])
def test_a_program_has_a_largest_size(place: Path, end: bytes) -> None:
    """`record` fetches what a guest names as a program, also one that only claims its size."""
    small = header(FILE, 0) + piece(1 << 32) + bytes(1024)
    assert unpack(io.BytesIO(small), place, only_a_file=True) == []
    (place / ROOT).unlink()
    with pytest.raises(Unfit, match="larger than 4 GiB"):
        unpack(io.BytesIO(header(FILE, 0) + end), place, only_a_file=True)
    with pytest.raises(Unfit, match="larger than 4 GiB"):
        unpack(io.BytesIO(header(FILE, 1 << 33, "copied/x")), place, only_a_file=True)


@pytest.mark.parametrize("name", [ROOT, f"./{ROOT}", f"{ROOT}/", f"{ROOT}/."])
def test_what_is_copied_is_no_link(place: Path, name: str) -> None:
    with pytest.raises(Unfit):
        unpack(io.BytesIO(packed([(name, LINK, "x")])), place)
    assert list(place.iterdir()) == []
