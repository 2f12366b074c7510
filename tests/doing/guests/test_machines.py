"""Virtual machines that cannot be: one clear line with the end of the console, nothing left."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from delaylab import images
from delaylab.images.build import find
from delaylab.images.recipes import RECIPES
from tests.doing.conftest import Run, as_json, only_line, our_processes, skip_unless_runnable
from tests.doing.labs.test_bad_input import BAD_INPUT, FAILED, NOT_HERE
from tests.doing.labs.test_kill import children

pytestmark = pytest.mark.root


@pytest.fixture(autouse=True)
def need_qemu() -> None:
    skip_unless_runnable("qemu")


def lab(node: str) -> str:
    nodes = f"nodes:\n  one: {{{node}}}\n  two: {{kind: netns}}\n"
    return f"lab: wrong\n{nodes}links:\n  - join: [one, two]\n"


def refused(delaylab: Run, folder: Path, run_directory: Path, node: str, code: int) -> str:
    """What `up` says of a lab with this node; nothing is left of it."""
    (folder / "lab.yaml").write_text(lab(node))
    said = only_line(delaylab("up", "lab.yaml", code=code).stderr)
    assert list(run_directory.iterdir()) == []
    assert our_processes(str(run_directory)) == []
    return said


def test_a_guest_that_panics(delaylab: Run, tmp_path: Path, run_directory: Path) -> None:
    cloud = images.require("cloud")
    own = f"kernel: {cloud['kernel']}, initrd: {cloud['initrd']}"
    node = f"kind: qemu, accel: tcg, memory: 144MiB, {own}"
    said = refused(delaylab, tmp_path, run_directory, node, FAILED)
    assert "start the guest of node.one" in said
    assert "the end of its console" in said
    assert "Kernel panic" in said


def test_too_little_memory_for_the_image(
    delaylab: Run, tmp_path: Path, run_directory: Path
) -> None:
    node = "kind: qemu, accel: tcg, memory: 167MiB"
    said = refused(delaylab, tmp_path, run_directory, node, BAD_INPUT)
    assert "167 MiB of memory are too few" in said
    assert "168MiB or more" in said


def test_a_kernel_without_the_cards_driver(
    delaylab: Run, tmp_path: Path, run_directory: Path
) -> None:
    cloud = images.require("cloud")
    node = f"kind: qemu, accel: tcg, nic: e1000, kernel: {cloud['kernel']}"
    modules = cloud["initrd"]  # this kernel's, and it has no e1000
    said = refused(delaylab, tmp_path, run_directory, f"{node}, initrd: {modules}", FAILED)
    assert "load kernel module e1000: this kernel's image does not have it" in said


def test_more_memory_than_there_is(delaylab: Run, tmp_path: Path, run_directory: Path) -> None:
    said = refused(delaylab, tmp_path, run_directory, "kind: qemu, memory: 900GiB", NOT_HERE)
    assert "MiB of memory" in said
    assert "can be had" in said


@pytest.mark.skipif(os.cpu_count() == 1, reason="one CPU has nothing to be bound to")
def test_virtual_cpus_are_bound_to_cpus(delaylab: Run, tmp_path: Path) -> None:
    (tmp_path / "lab.yaml").write_text(lab("kind: qemu, accel: tcg, vcpus: 2, pin: [1, 0]"))
    started = as_json(delaylab("up", "lab.yaml", "--json"))
    monitor = next(node["pid"] for node in started["nodes"] if node["name"] == "one")
    bound = {
        (task / "comm").read_text().strip(): os.sched_getaffinity(int(task.name))
        for pid in children(monitor)
        for task in Path(f"/proc/{pid}/task").iterdir()
    }
    cpus = {name: cpus for name, cpus in bound.items() if name.startswith("CPU ")}
    assert cpus == {"CPU 0/TCG": {1}, "CPU 1/TCG": {0}}
    assert delaylab("exec", "one", "--", "nproc").stdout.strip() == "2"


@pytest.mark.parametrize(
    ("node", "says"),
    [
        ("kind: netns, nic: e1000", "`nic` means nothing to kind 'netns'"),
        ("kind: xen, kernel: /vmlinuz", "`kernel` means nothing to kind 'xen'"),
        ("kind: qemu, machine: microvm, nic: e1000", "no PCI bus"),
        ("kind: qemu, vcpus: 2, pin: [0]", "`pin` names 1 CPUs for 2 vcpus"),
        ("kind: qemu, nic: e100", "'virtio', 'vmxnet3', 'e1000', 'e1000e' or 'rtl8139'"),
        ("kind: qemu, count: 2, host: there", "no host 'there'"),
    ],
)
def test_a_node_that_cannot_be(
    node: str, says: str, delaylab: Run, tmp_path: Path, run_directory: Path
) -> None:
    said = refused(delaylab, tmp_path, run_directory, node, BAD_INPUT)
    assert said.startswith("delaylab: lab.yaml:3: ") or "lab.yaml:" in said
    assert says in said


def copy_of_cache(folder: Path) -> Path:
    """A cache that everybody can read, with what machines boot; root's own is private."""
    images.require("cloud")
    names = images.layers_of(["cloud"])
    for name in names:
        names += getattr(RECIPES[name], "parts", ())  # a layer is found by its parts
        layer = find(name)
        assert layer is not None
        shutil.copytree(layer.path, folder / layer.path.name, symlinks=True, dirs_exist_ok=True)
    return folder


def test_a_cache_that_cannot_be_read_is_one_line(with_tun: Run, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("acting as an ordinary user needs root")
    closed = tmp_path / "closed"
    (closed / "cache").mkdir(parents=True)
    (tmp_path / "lab.yaml").write_text(lab("kind: qemu, accel: tcg"))
    verbs = [("image", "list"), ("image", "build", "agent"), ("up", "lab.yaml")]
    for folder in (closed, closed / "cache"):
        folder.chmod(0o700)
        for verb in verbs:
            env = {"DELAYLAB_CACHE": str(closed / "cache")}
            said = only_line(with_tun(*verb, code=NOT_HERE, env=env).stderr)
            assert str(closed / "cache") in said
            assert "DELAYLAB_CACHE=DIR" in said
        folder.chmod(0o755)


def test_an_ordinary_user_has_virtual_machines(with_tun: Run, tmp_path: Path) -> None:
    """QEMU needs no root: TAPs are the user's own, if the device is everyone's."""
    cache = copy_of_cache(tmp_path / "cache")
    (tmp_path / "lab.yaml").write_text(lab("kind: qemu, accel: tcg"))
    with_tun("up", "lab.yaml", env={"DELAYLAB_CACHE": str(cache)})
    assert with_tun("exec", "one", "--", "hostname").stdout.strip() == "one"
    with_tun("down", "wrong")


def test_a_user_without_the_device_is_told_how_to_open_it(without_tun: Run, tmp_path: Path) -> None:
    (tmp_path / "lab.yaml").write_text(lab("kind: qemu, accel: tcg"))
    said = only_line(without_tun("up", "lab.yaml", code=NOT_HERE).stderr)
    assert "chmod 666 /dev/net/tun" in said
