"""Places in root file systems whose links lead anywhere."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from delaylab.errors import BadInput
from delaylab.images.root_files import check, place_in

PARTS = st.lists(st.sampled_from(["a", "b", "d", "e", "..", "/"]), min_size=1).map("/".join)
LINKS = st.dictionaries(st.sampled_from(["a", "b", "d/a", "e/b"]), PARTS)
OPENAT2, RESOLVE_IN_ROOT = 437, 0x10


def found_by_the_kernel(root: Path, path: str) -> str | None:
    """Return the place that a path leads to within a root (openat2(2)); None if there is none."""
    how = (ctypes.c_uint64 * 3)(os.O_PATH, 0, RESOLVE_IN_ROOT)
    start = os.open(root, os.O_PATH)
    place = ctypes.CDLL(None).syscall(OPENAT2, start, path.encode(), how, ctypes.sizeof(how))
    os.close(start)
    if place < 0:
        return None
    try:
        return str(Path(f"/proc/self/fd/{place}").readlink())
    finally:
        os.close(place)


def test_links_are_followed_within_the_root(tmp_path: Path) -> None:
    (tmp_path / "usr/sbin").mkdir(parents=True)
    for name, target in (("sbin", "usr/sbin"), ("bin", "/usr/sbin"), ("etc", "../../../srv")):
        (tmp_path / name).symlink_to(target)
    assert place_in(tmp_path, "sbin/agent", is_folder=False) == "usr/sbin/agent"
    assert place_in(tmp_path, "bin/agent", is_folder=False) == "usr/sbin/agent"
    assert place_in(tmp_path, "etc/hosts", is_folder=False) == "srv/hosts"


@given(LINKS, PARTS)
def test_an_existing_place_is_that_which_the_kernel_finds(
    tmp_path_factory: pytest.TempPathFactory, links: dict[str, str], path: str
) -> None:
    root = tmp_path_factory.mktemp("root")
    for folder in ("d/d", "d/e", "e/d", "e/e"):
        (root / folder).mkdir(parents=True)
    for name, target in links.items():
        (root / name).symlink_to(target)
    found = found_by_the_kernel(root, path)
    if found is not None:
        place = place_in(root, path, is_folder=True)
        assert os.path.normpath(root / place) == found


@pytest.mark.parametrize(
    ("target", "why"),
    [("etc", "more than 40 links"), ("file", "file is no folder")],
)
def test_what_cannot_be_a_place_is_one_clear_line(tmp_path: Path, target: str, why: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "etc").symlink_to(target)
    with pytest.raises(BadInput, match=why):
        place_in(tmp_path, "etc/hosts", is_folder=False)


@pytest.mark.parametrize("name", ["dev", "proc", "sys"])
def test_folders_that_lxc_mounts_itself_are_no_links(tmp_path: Path, name: str) -> None:
    check(tmp_path)
    (tmp_path / name).symlink_to("elsewhere")
    with pytest.raises(BadInput, match=f"/{name} in .* is a link"):
        check(tmp_path)


@pytest.mark.parametrize("name", ["a:b", "a,b"])
def test_a_path_that_an_overlay_cannot_have_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadInput, match="a colon or a comma in its path"):
        check(tmp_path / name)
