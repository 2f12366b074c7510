"""Containers and virtual machines on a machine that is reached by ssh, which gets their images."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from delaylab import images
from delaylab.kinds import KINDS
from delaylab.machines import LOCAL
from tests.doing.conftest import skip_unless_runnable
from tests.doing.guests.test_containers import groups
from tests.doing.guests.test_image_archives import saved
from tests.doing.machines.ssh_machines import NEEDED, Lan, lan, pings
from tests.waiting import PATIENCE_S, wait_until

pytestmark = NEEDED

NAME = f"guests{os.getpid()}"
STORED = "/root/.cache/delaylab/stored"
LAB = (
    f"lab: {NAME}\n"
    + """\
machines: {m1: {ssh: m1}}
hosts: {here: {}, there: {machine: m1}}
nodes: {a: {host: here}, box: {host: there, kind: lxc}, b: {host: there}}
links:
  - {between: [a, box], name: wan, delay: 10ms}
  - {between: [b, box], name: near}
"""
)
STUDY = """\
study: guests
lab:
  lab: guests
  machines: {m1: {ssh: m1}}
  hosts: {here: {}, there: {machine: m1}}
  nodes: {a: {host: here}, box: {host: there, kind: lxc}}
  links: [{between: [a, box], name: wan, delay: 5ms}]
probe: {from: a, to: box, protocol: udp, count: 100, interval: 5ms}
factors: {load: {idle: []}}
repeat: 1
"""
ENGINE_SAYS = ("docker", "info", "--format", "{{json .}}")
KILLS = int(os.environ.get("DELAYLAB_KILLS", "3"))


@pytest.fixture(scope="module")
def machines() -> Iterator[Lan]:
    with (
        tempfile.TemporaryDirectory(prefix="dlm-") as folder,
        lan(Path(folder), ["m1"], cgroups=True) as made,
    ):
        yield made


@pytest.fixture
def one(machines: Lan, run_directory: Path) -> Iterator[Lan]:
    """A machine that a test leaves as it found it, apart from the files that were sent."""
    yield machines
    machines.delaylab("down", "--all")
    wait_until_gone(machines)


def wait_until_gone(one: Lan) -> None:
    one.wait_until_gone()
    assert groups(NAME) == []
    assert NAME not in one.on("m1", "cat", "/proc/mounts")


def stored(one: Lan) -> dict[str, str]:
    """Return the files that were sent to the machine, each with its inode and time of change."""
    listed = one.on(
        "m1", "find", STORED, "-mindepth", "2", "-maxdepth", "2", "-printf", "%P %i %C@\n"
    )
    return {line.split()[0]: line for line in listed.splitlines()}


def test_a_container_there_is_used_like_one_here(one: Lan) -> None:
    skip_unless_runnable("lxc")
    said = one.up(LAB)
    assert "there on m1" in said
    assert one.delaylab("exec", "box", "--", "hostname").stdout == "box\n"
    assert pings(one, "a", "box.wan") >= 20
    assert pings(one, "b", "box.near") < 10
    (file := one.folder / "text").write_text("from here")
    one.delaylab("cp", str(file), "box:/mine")
    assert one.delaylab("exec", "box", "--", "cat", "/mine").stdout == "from here"
    one.delaylab("cp", "box:/mine", str(one.folder / "back"))
    assert (one.folder / "back").read_text() == "from here"
    one.delaylab("down")
    wait_until_gone(one)
    # A second lab sends nothing, and what a node wrote is not in the image.
    before = stored(one)
    # `own` is the list of system calls that the container may not make.
    assert {name.split("-")[0] for name in before} == {"agent", "container", "own"}, before
    one.up(LAB)
    assert "mine" not in one.delaylab("exec", "box", "--", "ls", "/").stdout
    assert stored(one) == before


def test_docker_containers_there_are_used_like_those_here(one: Lan) -> None:
    """Two containers by one engine of the lab's own: the machine has none.

    One is from an archive, as `docker save` writes it.
    """
    skip_unless_runnable("docker")
    image = saved(one.folder / "b.tar", [images.require("container")["tar"].read_bytes()])
    b = f"b: {{host: there, kind: docker, memory: 64MiB, cpu_quota: 0.5, image: {image}}}"
    lab = LAB.replace("kind: lxc", "kind: docker").replace("b: {host: there}", b)
    one.up(lab)
    for node in ("box", "b"):
        assert one.delaylab("exec", node, "--", "hostname").stdout == f"{node}\n"
    assert pings(one, "a", "box.wan") >= 20
    assert pings(one, "b", "box.near") < 10
    (file := one.folder / "text").write_text("from here")
    one.delaylab("cp", str(file), "box:/mine")
    assert one.delaylab("exec", "box", "--", "cat", "/mine").stdout == "from here"
    one.delaylab("down")
    wait_until_gone(one)


def test_guests_are_on_two_machines_at_once(run_directory: Path) -> None:
    """A container of each kind that both have, with limits by the control groups of its machine."""
    skip_unless_runnable("lxc")
    skip_unless_runnable("docker")
    with (
        tempfile.TemporaryDirectory(prefix="dlm-") as folder,
        lan(Path(folder), ["m1", "m2"], cgroups=True) as two,
    ):
        two.up(BOTH)
        for node in ("a", "b", "c", "d"):
            assert two.delaylab("exec", node, "--", "hostname").stdout == f"{node}\n"
        assert pings(two, "a", "b.wan") >= 20
        assert pings(two, "a", "c.near") < 10
        for machine in ("m1", "m2"):
            said = "cat $(find /sys/fs/cgroup -name cpu.shares -o -name cpu.weight)"
            shares = two.on(machine, "sh", "-c", said)
            assert {"512", "50"} & set(shares.split())
            assert any(f"-{machine}/delaylab/" in str(group) for group in groups(NAME))
        two.delaylab("down")
        two.wait_until_gone()
        assert groups(NAME) == []


BOTH = (
    f"lab: {NAME}\n"
    + """\
machines: {m1: {ssh: m1}, m2: {ssh: m2}}
hosts: {one: {machine: m1}, other: {machine: m2}}
nodes:
  a: {host: one, kind: lxc, cpu_weight: 50}
  b: {host: other, kind: lxc, cpu_weight: 50}
  c: {host: one, kind: docker}
  d: {host: other, kind: docker}
links:
  - {between: [a, b], name: wan, delay: 10ms}
  - {between: [a, c], name: near}
  - {between: [b, d], name: far}
"""
)


def test_a_docker_container_there_that_does_not_start_is_one_line(one: Lan, tmp_path: Path) -> None:
    skip_unless_runnable("docker")
    (tmp_path / "sbin").write_text("no folder, so that the agent has no place in it")
    own = tmp_path / "own.tar"
    subprocess.run(["tar", "-cf", str(own), "-C", str(tmp_path), "sbin"], check=True)
    for image, why in (
        ("no-such-image:1", "the engine has no image"),
        (str(own), "not a directory"),
    ):
        said = one.up(LAB.replace("kind: lxc", f"kind: docker, image: '{image}'"), code=1)
        assert re.search(why, said), said
        wait_until_gone(one)


def test_an_image_that_was_damaged_there_is_sent_again(one: Lan) -> None:
    skip_unless_runnable("lxc")
    one.up(LAB)
    one.delaylab("down")
    wait_until_gone(one)
    before = stored(one)
    find = f"find {STORED}/container-*/rootfs -type f -size +1k -name '*.so*' | head -n 1"
    damaged = one.on("m1", "sh", "-c", find).strip()
    assert damaged
    one.on("m1", "truncate", "-s", "0", damaged)
    one.up(LAB)
    assert one.delaylab("exec", "box", "--", "hostname").stdout == "box\n"
    assert int(one.on("m1", "stat", "-c", "%s", damaged)) > 1024
    changed = {name for name, now in stored(one).items() if before.get(name) != now}
    assert {name.split("-")[0] for name in changed} == {"container"}, changed


def test_a_probe_to_a_container_there_is_stamped_at_every_point(one: Lan) -> None:
    skip_unless_runnable("lxc")
    (one.folder / "study.yaml").write_text(STUDY)
    out = one.folder / "out"
    one.delaylab("run", "study.yaml", "--out", str(out))
    try:
        (trial,) = (out / "trials").iterdir()
        stamps = pl.read_parquet(trial / "stamps.parquet")
        about = json.loads((trial / "trial.json").read_text())
    finally:
        shutil.rmtree(out)
    seen = set(stamps.filter(pl.col("leg") == "request")["point"])
    assert seen >= {"sender.app", "sender.tunnel", "responder.tunnel", "responder.vif"}, seen
    assert seen >= {"responder.stack", "responder.app"}, about["absent"]
    at = stamps.filter(pl.col("leg") == "request")["point"].value_counts()
    counts = dict(at.iter_rows())
    assert counts["responder.app"] == counts["sender.app"] >= 100


def test_a_missing_program_is_one_line_before_anything_starts(one: Lan) -> None:
    skip_unless_runnable("lxc")
    one.on("m1", "mkdir", "-p", "/tmp/upper", "/tmp/work")
    layers = "lowerdir=/usr/bin,upperdir=/tmp/upper,workdir=/tmp/work"
    one.on("m1", "mount", "-t", "overlay", "-o", layers, "overlay", "/usr/bin")
    one.on("m1", "rm", "/usr/bin/lxc-start")
    try:
        said = one.up(LAB, code=3)
    finally:
        one.on("m1", "umount", "-l", "/usr/bin")
    expected = "node 'box': kind lxc cannot run on machine m1: lxc-start is not installed;"
    assert f"{expected} apt-get install lxc" in " ".join(said.split()), said


def test_packages_of_a_node_there_are_looked_for_there(one: Lan) -> None:
    lab = LAB.replace("kind: lxc", "packages: [bash]")
    one.on("m1", "mount", "-t", "tmpfs", "none", "/var/lib/dpkg")
    try:
        said = one.up(lab, code=3)
    finally:
        one.on("m1", "umount", "/var/lib/dpkg")
    expected = "node box: package bash is not installed on machine m1, whose programs"
    assert expected in " ".join(said.split()), said
    one.up(lab)
    one.delaylab("down", NAME)


def test_a_disk_that_is_full_there_is_one_line(one: Lan) -> None:
    skip_unless_runnable("lxc")
    one.on("m1", "sh", "-c", f"mkdir -p {STORED} && mount -t tmpfs -o size=1m none {STORED}")
    try:
        said = one.up(LAB, code=1)
        assert "No space left on device" in said, said
        assert "machine m1" in said
        assert stored(one) == {}
    finally:
        one.on("m1", "umount", STORED)


@pytest.mark.parametrize("kind", ["lxc", pytest.param("docker", marks=pytest.mark.slow)])
def test_a_kill_at_any_moment_leaves_nothing(one: Lan, kind: str) -> None:
    """Also while an image is sent."""
    skip_unless_runnable(kind)
    drawn = random.Random("guests there")
    lab = LAB.replace("kind: lxc", f"kind: {kind}")
    (one.folder / "lab.yaml").write_text(lab)
    for number in range(KILLS):
        if number % 2 == 0:
            one.on("m1", "rm", "-rf", STORED)
        process = subprocess.Popen(
            one.command("up", "lab.yaml"),
            cwd=one.folder,
            env=one.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(drawn.uniform(0.5, 2.5))  # the moment is what is drawn
        process.kill()
        process.wait()
        one.delaylab("down", "--all")
        wait_until_gone(one)
    # What was killed while it arrived is removed, and sent again as a whole.
    one.up(lab)
    assert one.delaylab("exec", "box", "--", "hostname").stdout == "box\n"
    assert ".partial" not in one.on("m1", "ls", "-a", STORED)


@pytest.mark.slow
def test_a_machine_s_own_container_engine_is_used(one: Lan) -> None:
    """Its containers end with the lab, and their image stays in it."""
    skip_unless_runnable("docker")
    folders = "--data-root /tmp/data --exec-root /tmp/exec --pidfile /tmp/dockerd.pid"
    alone = (
        "--iptables=false --ip6tables=false --bridge=none --exec-opt native.cgroupdriver=cgroupfs"
    )
    inside = ["nsenter", f"--target={one.inside('m1')}", "--net", "--pid", "--mount"]
    with subprocess.Popen(
        [*inside, "dockerd", *folders.split(), *alone.split()],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as engine:
        try:
            wait_until(lambda: '"ServerVersion"' in one.on("m1", *ENGINE_SAYS))
            one.up(LAB.replace("kind: lxc", "kind: docker"))
            assert one.delaylab("exec", "box", "--", "hostname").stdout == "box\n"
            assert len(one.on("m1", "docker", "ps", "-q").split()) == 1
            one.delaylab("down")
            wait_until(lambda: not one.on("m1", "docker", "ps", "-aq").split())
            assert "delaylab" in one.on("m1", "docker", "images")
        finally:
            one.on("m1", "sh", "-c", "kill $(cat /tmp/dockerd.pid)")
            engine.wait(PATIENCE_S)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["uml", "qemu", "xen"])
def test_a_virtual_machine_there_is_used_like_one_here(one: Lan, kind: str) -> None:
    skip_unless_runnable(kind)
    if kind == "xen":
        images.require("xen")  # where packages can be fetched: few tests boot it
    one.up(LAB.replace("kind: lxc", f"kind: {kind}"))
    assert one.delaylab("exec", "box", "--", "hostname").stdout == "box\n"
    assert pings(one, "a", "box.wan") >= 20
    (file := one.folder / "text").write_text("from here")
    one.delaylab("cp", str(file), "box:/mine")
    assert one.delaylab("exec", "box", "--", "cat", "/mine").stdout == "from here"
    one.delaylab("down")
    wait_until_gone(one)


@pytest.mark.slow
def test_a_virtual_machine_there_has_packages_and_an_empty_disk(one: Lan) -> None:
    skip_unless_runnable("qemu")
    wanted = "kind: qemu, packages: [xz-utils], scratch: true"
    one.up(LAB.replace("kind: lxc", wanted))
    assert "xz" in one.delaylab("exec", "box", "--", "xz", "--version").stdout
    disk = one.on(
        "m1", "sh", "-c", f"du -k {STORED}/scratch-*/disk; stat -c %s {STORED}/scratch-*/disk"
    )
    used, whole = int(disk.split()[0]) << 10, int(disk.split()[-1])
    assert whole == 1 << 30
    assert used < whole / 8  # only its data was sent


@pytest.mark.slow
def test_ones_own_root_file_system_is_sent_as_it_is(one: Lan, tmp_path: Path) -> None:
    skip_unless_runnable("lxc")
    own = tmp_path / "own"
    shutil.copytree(images.require("container")["rootfs"], own, symlinks=True)
    (own / "bin/mine").write_text("#!/bin/sh\necho mine\n")
    (own / "bin/mine").chmod(0o4755)
    one.up(LAB.replace("kind: lxc", f"kind: lxc, image: {own}"))
    assert one.delaylab("exec", "box", "--", "mine").stdout == "mine\n"
    assert one.delaylab("exec", "box", "--", "stat", "-c", "%a", "/bin/mine").stdout == "4755\n"
    one.delaylab("down")
    (own / "bin/mine").write_text("#!/bin/sh\necho another\n")
    one.up(LAB.replace("kind: lxc", f"kind: lxc, image: {own}"))
    assert one.delaylab("exec", "box", "--", "mine").stdout == "another\n"


@pytest.mark.slow
def test_doctor_tries_all_kinds_there(one: Lan) -> None:
    checks = json.loads(one.delaylab("doctor", "--machine", "m1", "--json").stdout)
    found = {check["name"]: check for check in checks}
    assert found["netns"]["usable"]
    assert {"macvlan", "ifb", "htb", "mirred", "vxlan"} <= found.keys()
    for kind in ("lxc", "docker", "uml", "qemu"):
        if not KINDS[kind].can_run(LOCAL.rights(), False):
            assert found[kind]["usable"], found[kind]
            assert found[kind]["measured"]["rtt_us"] > 0
