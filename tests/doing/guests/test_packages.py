"""Packages that nodes and work name: in guests by their images, else on this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from delaylab import images
from delaylab.kinds import KINDS
from delaylab.lab.packages import not_installed
from delaylab.machines import LOCAL
from delaylab_study.dataset import store
from tests.doing.conftest import NOBODY, Run, as_json, left_to_slow, only_line, our_processes
from tests.doing.labs.test_bad_input import NOT_HERE
from tests.images.conftest import NEEDS_APT

pytestmark = pytest.mark.root
GUESTS = ("lxc", "qemu", *left_to_slow("docker", "uml"))
LAB = """\
lab: packed
hosts: {{one: {{}}}}
nodes:
  a: {{kind: {kind}, host: one, packages: [pigz, xz-utils]}}
  b: {{kind: netns, host: one}}
links: [{{join: [a, b], name: lan}}]
"""
ABSENT = "a-package-that-nobody-has"


def need(kind: str) -> None:
    reason = KINDS[kind].can_run(LOCAL.rights(), False)
    if reason or (kind in ("qemu", "uml") and not shutil.which("mke2fs")):
        pytest.skip(reason or "mke2fs is not installed; apt-get install e2fsprogs")


@NEEDS_APT
@pytest.mark.parametrize("kind", GUESTS)
def test_guests_have_the_programs_and_keep_the_image_as_it_was(
    delaylab: Run, tmp_path: Path, kind: str
) -> None:
    need(kind)
    lab = LAB.format(kind=kind)
    if kind == "qemu":
        # On a disk, packages spare a guest memory: half of what it needs with them in memory.
        lab = lab.replace("packages", "memory: 96MiB, packages")
    (tmp_path / "lab.yaml").write_text(lab)
    files = images.require(f"{'disk' if kind in ('qemu', 'uml') else 'container'}:pigz:xz-utils")
    before = {path: path.stat().st_mtime_ns for path in files.values()}
    delaylab("up", "lab.yaml")
    try:
        assert "XZ Utils" in delaylab("exec", "a", "--", "xz", "--version").stdout
        # What the agent of a fresh guest does: names, addresses, and a place to write to.
        delaylab("exec", "a", "--", "ping", "-c", "1", "b")
        packed = "seq 100000 | pigz > /etc/numbers.gz && pigz -dc /etc/numbers.gz | tail -n 1"
        assert delaylab("exec", "a", "--", "sh", "-c", packed).stdout == "100000\n"
    finally:
        delaylab("down", "packed")
    assert {path: path.stat().st_mtime_ns for path in files.values()} == before
    assert not list(files.get("rootfs", tmp_path).glob("etc/numbers.gz"))


@pytest.mark.parametrize("kind", ["netns", "native"])
def test_what_this_machine_lacks_is_one_line(
    delaylab: Run, tmp_path: Path, run_directory: Path, kind: str
) -> None:
    if shutil.which("dpkg-query") is None:
        pytest.skip("no dpkg-query here")
    text = LAB.format(kind=kind).replace("xz-utils", ABSENT).replace("pigz", "dpkg")
    (tmp_path / "lab.yaml").write_text(text)
    said = only_line(delaylab("up", "lab.yaml", code=NOT_HERE).stderr)
    assert f"node a: package {ABSENT} is not installed on this machine" in said
    assert f"kind {kind}" in said
    assert f"apt-get install {ABSENT}" in said
    assert list(run_directory.iterdir()) == []
    assert our_processes(str(run_directory)) == []


@NEEDS_APT
def test_a_package_that_apt_does_not_know_is_one_line(
    delaylab: Run, tmp_path: Path, run_directory: Path
) -> None:
    need("lxc")
    (tmp_path / "lab.yaml").write_text(LAB.format(kind="lxc").replace("pigz", ABSENT))
    said = only_line(delaylab("up", "lab.yaml", code=NOT_HERE).stderr)
    assert f"apt knows no package {ABSENT}" in said
    assert "apt-get update" in said
    assert list(run_directory.iterdir()) == []


STUDY = """\
study: s
lab:
  lab: packing
  hosts: {{one: {{}}}}
  nodes: {{n: {{kind: {kind}, host: one, count: 2}}, far: {{host: one}}}}
  links: [{{join: [n, far], name: lan}}]
factors: {{}}
probe: {{from: far, to: n-1, count: 20, interval: 5ms, at_rest: 4}}
work:
  - name: pack
    on: n
    command: [sh, -c, 'head -c 2000000 /dev/urandom | xz --verbose > /dev/null']
    packages: [{package}]
    result: '= ([0-9.]+)'
"""


@NEEDS_APT
@pytest.mark.parametrize("kind", ["netns", *left_to_slow("lxc", "qemu", "docker", "uml")])
def test_work_brings_its_packages_along(delaylab: Run, tmp_path: Path, kind: str) -> None:
    need(kind)
    if kind == "netns" and not_installed({"xz-utils"}, LOCAL):
        pytest.skip("xz-utils is not installed on this machine")
    # In guests those of the image that a test above has built.
    packages = "xz-utils" if kind == "netns" else "pigz, xz-utils"
    (tmp_path / "s.yaml").write_text(STUDY.format(kind=kind, package=packages))
    delaylab("run", "s.yaml", "--out", "out")
    (trial,) = store.read_study(tmp_path / "out").trials
    assert [(each.node, each.failed) for each in trial.work] == [("n-1", None), ("n-2", None)]
    assert all(each.rate and each.rate > 0 for each in trial.work)


def test_a_study_says_before_its_first_trial_what_this_machine_lacks(
    delaylab: Run, tmp_path: Path
) -> None:
    if shutil.which("dpkg-query") is None:
        pytest.skip("no dpkg-query here")
    (tmp_path / "s.yaml").write_text(STUDY.format(kind="netns", package=ABSENT))
    said = only_line(delaylab("run", "s.yaml", "--out", "out", code=NOT_HERE).stderr)
    assert f"package {ABSENT} is not installed" in said
    assert not (tmp_path / "out").exists()


@NEEDS_APT
@pytest.mark.slow
def test_an_ordinary_user_makes_disks_whose_files_are_roots(nobody: Run, tmp_path: Path) -> None:
    need("qemu")
    cache = tmp_path / "cache"
    cache.mkdir()
    if os.geteuid() == 0:
        os.chown(cache, NOBODY, NOBODY)
    env = {"DELAYLAB_CACHE": str(cache)}
    made = as_json(nobody("image", "build", "disk:pigz", "--json", env=env))
    (layer,) = (each["path"] for each in made["layers"] if each["name"] == "disk_pigz")
    argv = ["debugfs", "-R", "stat /bin/pigz", f"{layer}/disk"]
    said = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    assert "User:     0   Group:     0" in said
