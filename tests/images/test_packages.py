"""Images with packages that a lab names: real packages, small ones."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from delaylab import images
from delaylab.errors import BadInput, NotHere
from delaylab.images import apt, packaged
from tests.images.conftest import NEEDS_APT
from tests.images.test_build import run_in
from tests.images.test_trouble import DEADLINE_S, one_line, start
from tests.waiting import wait_until

Use = Callable[[Path], None]
NEEDS_MKE2FS = pytest.mark.skipif(shutil.which("mke2fs") is None, reason="no mke2fs here")


@NEEDS_APT
def test_the_tree_has_the_programs_of_the_packages_and_those_of_every_guest(
    cache: Path, use: Use
) -> None:
    use(cache)
    before = images.require("container")["rootfs"] / "bin/xz"
    assert before.is_symlink()  # busybox's
    files = images.require("container:xz-utils:pigz")
    root = files["rootfs"]
    assert "XZ Utils" in run_in(root, "bin/xz", "--version")
    assert "pigz" in run_in(root, "bin/pigz", "--version")
    assert "iputils" in run_in(root, "bin/ping", "-V")
    assert (root / "bin/sh").readlink() == Path("dash")
    assert before.is_symlink()
    assert not list(root.glob("share/man/*"))
    members = subprocess.run(
        ["tar", "-tvf", str(files["tar"])], capture_output=True, text=True, check=True
    ).stdout
    assert " ./bin/pigz" in members
    assert all("root/root" in line for line in members.splitlines())


@NEEDS_APT
def test_the_same_packages_in_any_order_are_one_image(cache: Path, use: Use) -> None:
    use(cache)
    known: dict[str, str] = {}
    one, other = (
        images.resolve(f"{{image:container:{names}/rootfs}}", known=known)
        for names in ("pigz:xz-utils", "xz-utils:pigz:pigz")
    )
    assert one == other
    layer = next(each for each in images.layers() if each.name == "packages_pigz_xz-utils")
    assert [made.split()[0] for made in layer.made_of[:2]] == ["pigz", "xz-utils"]
    assert not images.missing([f"{{image:container:pigz:xz-utils/{file}}}" for file in ("tar",)])


@NEEDS_APT
@NEEDS_MKE2FS
def test_a_disk_holds_the_tree(cache: Path, use: Use, tmp_path: Path) -> None:
    use(cache)
    disk = images.require("disk:pigz")["disk"]
    said = subprocess.run(
        ["debugfs", "-R", "stat /bin/pigz", str(disk)], capture_output=True, text=True, check=True
    )
    assert "User:     0   Group:     0" in said.stdout
    copy = tmp_path / "pigz"
    subprocess.run(
        ["debugfs", "-R", f"dump /bin/pigz {copy}", str(disk)], capture_output=True, check=True
    )
    root = images.require("container:pigz")["rootfs"]
    assert copy.read_bytes() == (root / "bin/pigz").read_bytes()
    subprocess.run(["e2fsck", "-fn", str(disk)], capture_output=True, check=True)


@NEEDS_APT
def test_a_package_that_apt_has_downloaded_already_is_needed_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """apt lists what it would download, without what is in its own folder of archives."""
    (package,) = apt.look_up(["xz-utils"])
    version = package.version.replace(":", "%3a")
    archive = tmp_path / f"xz-utils_{version}_{apt.architecture()}.deb"
    (tmp_path / "partial").mkdir()
    with archive.open("wb") as file:
        file.truncate(package.size_bytes)
    (tmp_path / "apt.conf").write_text(f'Dir::Cache::Archives "{tmp_path}";\n')
    monkeypatch.setenv("APT_CONFIG", str(tmp_path / "apt.conf"))
    assert "xz-utils" in apt.needed(["xz-utils"])


@NEEDS_APT
def test_what_is_needed_is_chosen_as_apt_chooses(cache: Path) -> None:
    """The list has one of two alternatives, and what every system has is part of it."""
    found = apt.needed(["povray"])
    assert found[0] == "povray"
    assert "libc6" in found
    assert len({"libsdl1.2debian", "libsdl1.2-compat-shim"} & set(found)) == 1


@NEEDS_APT
@pytest.mark.parametrize("name", ["no-such-package-here", "mail-transport-agent", "pigz-"])
def test_an_unknown_package_is_named(name: str) -> None:
    with pytest.raises(NotHere, match=rf"apt knows no package {name} "):
        apt.needed(["xz-utils", name])


def test_a_name_that_no_package_can_have_is_refused() -> None:
    for name in ("container:--purge", "disk:", "disk:A", "container:x;y"):
        with pytest.raises(BadInput, match="no package can be called"):
            images.files_of(name)
    with pytest.raises(BadInput, match="no image 'tools:pigz'"):
        images.files_of("tools:pigz")


def test_many_packages_still_have_a_folder_of_their_own() -> None:
    """A file's name has 255 characters at most, and labs differ by their last package, too."""
    many = [f"libsomething{number}" for number in range(90)]
    names = {packaged.recipe(":".join(["disk", *many, last])).name for last in ("zip", "zsh")}
    assert len(names) == 2
    assert all(len(name) < 120 for name in names)


@NEEDS_APT
def test_images_with_packages_are_built_ahead_listed_and_removed(
    image: Callable[..., subprocess.CompletedProcess[str]], own_cache: Path
) -> None:
    image("build", "container:pigz")
    listed = json.loads(image("list", "--json").stdout)
    names = {layer["name"] for layer in listed["layers"]}
    assert {"packages_pigz", "rootfs_pigz", "tar_pigz"} <= names
    assert "rootfs_pigz" in image("list").stdout
    line = one_line(image("build", "disk:no-such-package-here", code=3))
    assert "apt knows no package no-such-package-here" in line
    assert not list(own_cache.glob(".partial-*"))
    assert "packages_pigz" in image("clean").stdout
    assert not list(own_cache.glob("*_*"))


@pytest.mark.slow
@NEEDS_APT
@NEEDS_MKE2FS
def test_a_killed_build_leaves_nothing_that_counts(
    image: Callable[..., subprocess.CompletedProcess[str]], own_cache: Path
) -> None:
    killed = start(own_cache, "build", "disk:pigz")
    wait_until(lambda: any(own_cache.glob(".partial-packages_pigz-*")), DEADLINE_S)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    assert not list(own_cache.glob(".partial-*/layer.json"))
    image("build", "disk:pigz")
    assert not list(own_cache.glob(".partial-*"))
    (disk,) = own_cache.glob("disk_pigz-*/disk")
    assert disk.stat().st_blocks * 512 < disk.stat().st_size
