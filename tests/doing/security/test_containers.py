"""Attacks on this machine by the image of an LXC container, and by the programs in it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from delaylab import images
from tests.doing.conftest import Run, Up, skip_unless_runnable

pytestmark = pytest.mark.root
LAB = """\
lab: contained
nodes:
  box: {{kind: lxc{more}}}
  far: {{}}
links: [{{between: [box, far]}}]
"""
DENIED = "Operation not permitted"
CALLS = ("keyctl", "add_key", "request_key", "io_uring_setup", "userfaultfd", "kcmp")


@pytest.fixture(autouse=True)
def need_lxc() -> None:
    skip_unless_runnable("lxc")


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """A root file system of one's own."""
    root = tmp_path / "image"
    shutil.copytree(images.require("container")["rootfs"], root, symlinks=True)
    return root


def test_links_of_an_image_do_not_lead_out_of_it(
    delaylab: Run, up: Up, tmp_path: Path, image: Path
) -> None:
    """Each folder in which something is mounted is a link to a folder of this machine."""
    outside = tmp_path / "outside"
    for name, target in (
        ("etc", outside / "etc"),
        ("sbin", outside / "sbin"),
        ("run", Path("../" * 40 + str(outside / "run"))),
    ):
        (outside / name).mkdir(parents=True)
        shutil.rmtree(image / name)
        (image / name).symlink_to(target)
    up(LAB.format(more=f", image: {image}"))
    assert "far" in delaylab("exec", "box", "--", "cat", "/etc/hosts").stdout
    assert sorted(outside.rglob("*")) == [outside / name for name in ("etc", "run", "sbin")]


def test_an_image_with_its_programs_in_usr_starts(
    delaylab: Run, up: Up, tmp_path: Path, image: Path
) -> None:
    """As those of today's distributions: `sbin` is a link to `usr/sbin`."""
    (image / "usr").unlink()
    (image / "usr").mkdir()
    for name in ("bin", "sbin"):
        (image / name).rename(image / "usr" / name)
        (image / name).symlink_to(f"usr/{name}")
    up(LAB.format(more=f", image: {image}"))
    assert delaylab("exec", "box", "--", "hostname").stdout == "box\n"


@pytest.mark.parametrize("more", ["", ", capabilities: [sys_admin]"])
def test_programs_reach_no_keys_of_this_machine(
    delaylab: Run, up: Up, tmp_path: Path, more: str
) -> None:
    program = tmp_path / "calls"
    source = Path(__file__).with_name("calls.c")
    subprocess.run(["cc", "-static", "-o", program, source], check=True)
    up(LAB.format(more=more))
    delaylab("cp", str(program), "box:/tmp/calls")
    said = delaylab("exec", "box", "--", "/tmp/calls").stdout
    expected = dict.fromkeys(CALLS, DENIED) | {"unshare": "done" if more else DENIED}
    assert dict(line.split(": ") for line in said.splitlines()) == expected


def test_a_start_that_fails_leaves_no_control_group(delaylab: Run, tmp_path: Path) -> None:
    before = pivots()
    (tmp_path / "lab.yaml").write_text(LAB.format(more=", memory: 4KiB"))
    said = delaylab("up", "lab.yaml", code=1).stderr
    assert "start the guest of node.box" in said
    assert pivots() - before == set()


def pivots() -> set[Path]:
    """The control groups that LXC would make outside of the lab's."""
    return set(Path("/sys/fs/cgroup").rglob("lxc.pivot*"))
