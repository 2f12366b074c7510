"""Disk images of strangers: which ones a guest gets, and what QEMU reads of them."""

from __future__ import annotations

import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from delaylab.errors import BadInput
from delaylab.images import disk_files
from tests import qcow2

QEMU = "qemu-system-x86_64"
NEEDS_QEMU = pytest.mark.skipif(shutil.which(QEMU) is None, reason=f"{QEMU} is not installed")
SECRET = b"secret of this machine\n" * 40
BACKING = ["{secret}", 'json:{{"driver":"raw","file.filename":"{secret}"}}', "nbd:127.0.0.1:1"]


@pytest.mark.parametrize("version", [2, 3])
def test_an_image_that_is_one_file_has_its_format(tmp_path: Path, version: int) -> None:
    image = qcow2.write(tmp_path / "one", b"content", version=version)
    assert disk_files.check(image).format == "qcow2"
    (tmp_path / "raw").write_bytes(b"\0" * 4096)
    assert disk_files.check(tmp_path / "raw").format == "raw"


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("backing", BACKING)
def test_an_image_with_a_backing_file_is_refused(
    tmp_path: Path, version: int, backing: str
) -> None:
    name = backing.format(secret=tmp_path / "secret")
    image = qcow2.write(tmp_path / "evil", b"content", backing=name, version=version)
    with pytest.raises(BadInput, match="has a backing file, which the guest would read"):
        disk_files.check(image)


def test_an_image_with_its_data_elsewhere_is_refused(tmp_path: Path) -> None:
    image = qcow2.write(tmp_path / "evil", b"", data_file="/etc/shadow")
    with pytest.raises(BadInput, match="keeps its data in another file"):
        disk_files.check(image)


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (b"KDMV" + bytes(508), "VMDK"),
        (b"# Disk DescriptorFile\nversion=1\n", "VMDK"),
        (b"vhdxfile", "VHDX"),
        (bytes(64) + b"\x7f\x10\xda\xbe" + bytes(444), "VDI"),
    ],
)
def test_another_format_is_named(tmp_path: Path, head: bytes, name: str) -> None:
    (tmp_path / "image").write_bytes(head)
    with pytest.raises(BadInput, match=f"is a {name} image; raw and qcow2 are known"):
        disk_files.check(tmp_path / "image")


@given(head=st.binary(max_size=200), magic=st.booleans())
def test_any_head_has_a_format_or_is_bad_input(
    tmp_path_factory: pytest.TempPathFactory, head: bytes, magic: bool
) -> None:
    image = tmp_path_factory.getbasetemp() / "any"
    image.write_bytes((disk_files.QCOW2 if magic else b"") + head)
    with suppress(BadInput):
        assert disk_files.check(image).format in {"raw", "qcow2"}


@NEEDS_QEMU
def test_qemu_reads_no_other_file_even_if_the_image_names_one_later(tmp_path: Path) -> None:
    """The image may change between the check and the start of QEMU."""
    (tmp_path / "secret").write_bytes(SECRET)
    image = qcow2.write(tmp_path / "a,b", bytes(qcow2.CLUSTER))
    found = disk_files.check(image)
    qcow2.write(image, bytes(qcow2.CLUSTER), backing=str(tmp_path / "secret"))
    assert b"secret" in first_bytes(f"file={str(image).replace(',', ',,')}")
    assert b"secret" not in first_bytes(found.drive(str(image)))


@NEEDS_QEMU
def test_qemu_does_not_look_for_formats_in_a_raw_image(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(SECRET)
    image = tmp_path / "raw"
    image.write_bytes(bytes(qcow2.CLUSTER))
    found = disk_files.check(image)
    qcow2.write(image, bytes(qcow2.CLUSTER), backing=str(tmp_path / "secret"))
    assert b"QFI" in first_bytes(found.drive(str(image)))


def first_bytes(drive: str) -> bytes:
    """Return what QEMU's monitor prints of the first bytes of a drive."""
    argv = [QEMU, "-machine", "none", "-nodefaults", "-nographic", "-monitor", "stdio"]
    done = subprocess.run(
        [*argv, "-drive", f"{drive},if=none,id=root,snapshot=on"],
        input=b'qemu-io root "read -v 0 512"\nquit\n',
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert b"read 512/512" in done.stdout, done.stdout + done.stderr
    return done.stdout
