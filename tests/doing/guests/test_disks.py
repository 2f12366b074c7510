"""A disk image of the user's own as a virtual machine's root."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from delaylab import images
from delaylab.kinds import KINDS
from delaylab.machines import LOCAL
from tests import qcow2
from tests.doing.conftest import Run, as_json
from tests.doing.guests.test_machines import refused
from tests.doing.labs.test_bad_input import BAD_INPUT, FAILED

pytestmark = pytest.mark.root
MIB = 1 << 20
PARTITION_AT = MIB


@pytest.fixture(autouse=True)
def need_qemu() -> None:
    reason = KINDS["qemu"].can_run(LOCAL.rights(), False)
    if reason or not shutil.which("mke2fs"):
        pytest.skip(reason or "mke2fs is not installed; apt-get install e2fsprogs")


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    """A file system with a shell, and a file by which it is known."""
    root, image = tmp_path / "root", tmp_path / "disk.img"
    shutil.copytree(images.require("container")["rootfs"], root, symlinks=True)
    (root / "etc/whose").write_text("mine\n")
    argv = ["mke2fs", "-q", "-t", "ext4", "-d", str(root), str(image), "96M"]
    subprocess.run(argv, check=True)
    return image


def partitioned(image: Path) -> Path:
    """The same file system as the first partition of a disk (an MBR with one entry)."""
    content = image.read_bytes()
    first, sectors = PARTITION_AT // 512, len(content) // 512
    entry = bytes([0, 0, 0, 0, 0x83, 0, 0, 0]) + first.to_bytes(4, "little")
    entry += sectors.to_bytes(4, "little")
    header = bytes(446) + entry + bytes(48) + b"\x55\xaa"
    disk = image.with_name("partitioned.img")
    disk.write_bytes(header.ljust(PARTITION_AT, b"\0") + content)
    return disk


def in_qcow2(image: Path) -> Path:
    """The same file system in a qcow2 image."""
    return qcow2.write(image.with_name("disk.qcow2"), image.read_bytes())


SLOW_FORMS = [pytest.param(form, marks=pytest.mark.slow) for form in (partitioned, in_qcow2)]


@pytest.mark.parametrize("form", [Path, *SLOW_FORMS])
def test_its_programs_run_and_it_is_not_written_to(
    delaylab: Run, tmp_path: Path, disk: Path, form: Callable[[Path], Path]
) -> None:
    image = form(disk)
    before = image.read_bytes()
    node = f"{{kind: qemu, accel: tcg, image: {image}}}"
    nodes = f"nodes:\n  one: {node}\n  two: {{kind: netns}}\n"
    (tmp_path / "lab.yaml").write_text(f"lab: disk\n{nodes}links:\n  - join: [one, two]\n")
    delaylab("up", "lab.yaml")
    try:
        assert delaylab("exec", "one", "--", "cat", "/etc/whose").stdout == "mine\n"
        mounts = delaylab("exec", "one", "--", "cat", "/proc/mounts").stdout
        assert "ext4" in next(line for line in mounts.splitlines() if line.split()[1] == "/")
        delaylab("exec", "one", "--", "sh", "-c", "echo other > /etc/whose; sync")
        assert delaylab("exec", "one", "--", "cat", "/etc/whose").stdout == "other\n"
        delaylab("exec", "two", "--", "ping", "-c", "1", "one")
    finally:
        delaylab("down", "disk")
    assert image.read_bytes() == before


SCRATCH = """\
lab: scratch
hosts: {{sut: {{}}, target: {{}}}}
nodes:
  one: {{kind: qemu, accel: tcg, scratch: true, host: sut{image}}}
  two: {{kind: netns, host: target}}
links: [{{join: [one, two], name: lan}}]
"""


@pytest.mark.parametrize(
    "with_root",
    [False, pytest.param(True, marks=pytest.mark.slow)],
    ids=["alone", "beside a root of one's own"],
)
def test_what_is_written_to_a_scratch_disk_is_on_storage_and_goes_with_the_lab(
    delaylab: Run, tmp_path: Path, disk: Path, with_root: bool
) -> None:
    image = f", image: {disk}" if with_root else ""
    (tmp_path / "lab.yaml").write_text(SCRATCH.format(image=image))
    up = as_json(delaylab("up", "lab.yaml", "--json"))
    (monitor,) = (node["pid"] for node in up["nodes"] if node["name"] == "one")
    write = "dd if=/dev/zero of=/var/tmp/file bs=1M count=64 && sync"
    try:
        mounts = delaylab("exec", "one", "--", "cat", "/proc/mounts").stdout.splitlines()
        (device,) = (line.split()[0] for line in mounts if line.split()[1] == "/var/tmp")
        assert device == ("/dev/vdb" if with_root else "/dev/vda")
        before = sum(map(on_storage, kept_files(monitor)))
        delaylab("exec", "one", "--", "sh", "-c", write)
        # Blocks of zeros count: QEMU writes what the guest wrote.
        assert sum(map(on_storage, kept_files(monitor))) - before >= 64 * MIB
        assert all(link.readlink().name.endswith(" (deleted)") for link in kept_files(monitor))
    finally:
        delaylab("down", "scratch")


def kept_files(monitor: int) -> list[Path]:
    """The open files of a monitor's QEMU that are below this machine's /var/tmp."""
    children = Path(f"/proc/{monitor}/task/{monitor}/children").read_text().split()
    links = (link for child in children for link in Path(f"/proc/{child}/fd").iterdir())
    return [link for link in links if str(link.readlink()).startswith("/var/tmp/")]


def on_storage(link: Path) -> int:
    """The bytes that a file takes on its file system."""
    return link.stat().st_blocks * 512


@pytest.mark.slow
def test_a_disk_load_in_a_machine_with_a_scratch_disk_acts(delaylab: Run, tmp_path: Path) -> None:
    """Its files are larger than the machine's memory, so that they reach the disk."""
    (tmp_path / "lab.yaml").write_text(SCRATCH.format(image=""))
    (tmp_path / "study.yaml").write_text(
        "study: disks\nlab: lab.yaml\nfactors: {load: {disk: [{disk: 1, on: one}]}}\n"
        "probe: {from: two, to: one, count: 100, interval: 50ms, at_rest: 5}\n"
    )
    delaylab("run", "study.yaml", "--out", "data")
    (trial,) = as_json(delaylab("show", "data", "--json"))["trials"]
    (check,) = (each for each in trial["loads"] if each["load"] == "disk")
    assert check["acted"]
    assert check["value"] > check["least"] > 0


def test_an_image_that_names_a_file_of_this_machine_is_refused(
    delaylab: Run, tmp_path: Path, run_directory: Path
) -> None:
    image = qcow2.write(tmp_path / "evil.qcow2", b"", backing="/etc/shadow")
    node = f"kind: qemu, accel: tcg, image: {image}"
    said = refused(delaylab, tmp_path, run_directory, node, BAD_INPUT)
    assert "evil.qcow2 has a backing file, which the guest would read (make it one file" in said


def test_a_disk_without_a_file_system(delaylab: Run, tmp_path: Path, run_directory: Path) -> None:
    empty = tmp_path / "empty.img"
    empty.write_bytes(bytes(MIB))
    node = f"kind: qemu, accel: tcg, image: {empty}"
    said = refused(delaylab, tmp_path, run_directory, node, FAILED)
    assert "neither it nor a partition of it has a file system of type ext4" in said


def test_a_disk_that_is_not_there(delaylab: Run, tmp_path: Path, run_directory: Path) -> None:
    node = f"kind: qemu, accel: tcg, image: {tmp_path}/none.img"
    said = refused(delaylab, tmp_path, run_directory, node, BAD_INPUT)
    assert f"there is no file {tmp_path}/none.img" in said
