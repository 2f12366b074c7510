"""Disks of virtual machines: an image of the user's own as root, and an empty disk for loads."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from delaylab import images
from delaylab.analysis.group import groups
from delaylab.analysis.treatments.check import checks
from delaylab.dataset.store import read_study
from delaylab.kinds import KINDS
from delaylab.machine.rights import own_rights
from tests.doing.conftest import Run
from tests.doing.test_bad_input import BAD_INPUT, FAILED
from tests.doing.test_machines import refused

pytestmark = pytest.mark.root
MIB = 1 << 20
PARTITION_AT = MIB


@pytest.fixture(autouse=True)
def need_qemu() -> None:
    reason = KINDS["qemu"].can_run(own_rights(), False)
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


@pytest.mark.parametrize("whole", [True, False])
def test_its_programs_run_and_it_is_not_written_to(
    delaylab: Run, tmp_path: Path, disk: Path, whole: bool
) -> None:
    image = disk if whole else partitioned(disk)
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
        delaylab("exec", "two", "--", "ping", "-c", "1", "198.18.0.1")
    finally:
        delaylab("down", "disk")
    assert image.read_bytes() == before


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


LOADED = """
study: disks
lab:
  lab: disks
  nodes:
    probe: {}
    noisy: {kind: qemu, accel: tcg, disk: 32MiB}
    diskless: {kind: qemu, accel: tcg}
  links: [{join: [probe, noisy, diskless], name: lan}]
factors:
  load: {its-own: [{disk: 1, on: noisy}], memory: [{disk: 1, on: diskless}]}
probe: {from: probe, to: noisy, count: 40, interval: 20ms, at_rest: 0}
repeat: 2
"""


def written_by_qemu() -> set[Path]:
    """The files of QEMU's that have a name below /var/tmp."""
    return set(Path("/var/tmp").glob("vl.*"))


def test_a_disk_load_in_a_machine_with_a_disk_writes_to_it(delaylab: Run, tmp_path: Path) -> None:
    """The second trial finds the file system of the first; nothing is left on this machine."""
    before = written_by_qemu()
    (tmp_path / "study.yaml").write_text(LOADED)
    delaylab("run", str(tmp_path / "study.yaml"), "--out", str(tmp_path / "data"))
    for group in groups(read_study(tmp_path / "data")):
        assert len(group.trials) == 2
        acted = [check.acted for check in checks(group)]
        assert acted == [group.factors["load"] == "its-own"] * 2
    assert written_by_qemu() <= before


def test_the_disk_of_a_machine_is_empty_and_of_its_size(delaylab: Run, tmp_path: Path) -> None:
    nodes = "nodes:\n  one: {kind: qemu, accel: tcg, disk: 20MiB}\n  two: {kind: netns}\n"
    (tmp_path / "lab.yaml").write_text(f"lab: empty\n{nodes}links:\n  - join: [one, two]\n")
    delaylab("up", "lab.yaml")
    try:
        size = delaylab("exec", "one", "--", "cat", "/sys/block/vda/size").stdout
        assert int(size) * 512 == 20 * MIB
        delaylab("exec", "one", "--", "cmp", "-n", str(MIB), "/dev/vda", "/dev/zero")
        # What is written goes to a file without a name, which ends with QEMU, however that does.
        opened = [
            str(fd.readlink())
            for process in Path("/proc").glob("[0-9]*")
            if b"empty.one" in (process / "cmdline").read_bytes().split(b",")[0]
            for fd in (process / "fd").iterdir()
        ]
        assert [name for name in opened if name.startswith("/var/tmp/") and "(deleted)" in name]
    finally:
        delaylab("down", "empty")
