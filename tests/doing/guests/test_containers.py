"""What is particular to LXC and Docker: limits, the image stays clean, the engine, and kills."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest
from benches import docker_engine

from delaylab import images
from tests.doing.conftest import DELAYLAB, Run, as_json, our_processes, skip_unless_runnable
from tests.waiting import wait_until, wait_until_gone

pytestmark = pytest.mark.root
CONTAINERS = ("lxc", "docker")
LABEL = "org.delaylab.lab"
KILLS = int(os.environ.get("DELAYLAB_KILLS", "4"))
NAME = f"boxes{os.getpid()}"
"""Two runs at once see each other's control groups."""
LAB = (
    f"lab: {NAME}\n"
    + """\
hosts: {{one: {{}}}}
nodes:
  a: {{kind: {kind}, host: one, cpus: [1], memory: 64MiB, {more}}}
  b: {{kind: {kind}, host: one}}
links: [{{between: [a, b]}}]
"""
)


@pytest.fixture(params=CONTAINERS)
def kind(request: pytest.FixtureRequest) -> str:
    skip_unless_runnable(request.param)
    return str(request.param)


@pytest.fixture
def boxes(kind: str, tmp_path: Path) -> Path:
    path = tmp_path / "boxes.yaml"
    path.write_text(LAB.format(kind=kind, more="cpu_weight: 50"))
    return path


@pytest.fixture
def own_engine(
    monkeypatch: pytest.MonkeyPatch, run_directory: Path
) -> Iterator[docker.DockerClient]:
    """An engine that runs before the lab and after it, as a system's does."""
    skip_unless_runnable("docker")
    folder = run_directory / "system" / "engine"
    with docker_engine.running(folder) as client:
        monkeypatch.setenv("DOCKER_HOST", f"unix://{folder}/docker.sock")
        yield client
    shutil.rmtree(folder.parent)


def groups(lab: str = NAME) -> list[Path]:
    """Control groups of labs of this name, in all hierarchies."""
    found = subprocess.run(
        ["find", "/sys/fs/cgroup", "-type", "d", "-path", f"*/delaylab/{lab}.*"],
        capture_output=True,
        text=True,
        check=False,
    )
    return [Path(line) for line in found.stdout.splitlines()]


def group_value(name: str) -> set[str]:
    """What a file says in the groups of node a that are a container's, not a monitor's."""
    files = [folder / name for folder in groups() if "node.a/" in f"{folder}/"]
    return {file.read_text().strip() for file in files if file.exists()}


def test_limits_hold_and_the_image_stays_as_it_was(
    delaylab: Run, boxes: Path, kind: str, run_directory: Path
) -> None:
    root = images.require("container")["rootfs"]
    before = {path: path.lstat().st_mtime_ns for path in root.rglob("*")}
    delaylab("up", str(boxes))
    assert delaylab("exec", "a", "--", "hostname").stdout == "a\n"
    assert delaylab("exec", "a", "--", "nproc").stdout == "1\n"
    memory = group_value("memory.limit_in_bytes") | group_value("memory.max")
    assert str(64 << 20) in memory
    assert {"512", "50"} & (group_value("cpu.shares") | group_value("cpu.weight"))
    said = delaylab("image", "clean", "--old", code=2).stderr
    assert f"in use by labs that are up: {NAME}" in said
    delaylab("exec", "a", "--", "sh", "-c", "echo mine > /bin/mine; rm /bin/ping; mkdir /new")
    assert "ping" in delaylab("exec", "b", "--", "ls", "/bin").stdout
    delaylab("down", "--all")
    assert {path: path.lstat().st_mtime_ns for path in root.rglob("*")} == before
    assert groups() == []
    assert our_processes(str(run_directory)) == []
    assert str(run_directory) not in Path("/proc/mounts").read_text()


def test_a_killed_lab_leaves_nothing(boxes: Path, kind: str, run_directory: Path) -> None:
    choose = random.Random(f"containers {kind}")
    for _ in range(KILLS):
        process = subprocess.Popen(
            [str(DELAYLAB), "up", str(boxes)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        time.sleep(choose.uniform(0.2, 2.5))  # the moment is the test's random input
        victims = [pid for pid in _processes(run_directory) if pid != process.pid]
        victim = choose.choice(victims or [process.pid])
        for pid in (victim, process.pid, _keeper(run_directory)):
            if pid:
                _kill(pid)
        process.wait()
        subprocess.run([str(DELAYLAB), "down", "--all"], check=True, stdout=subprocess.DEVNULL)
        wait_until_gone(lambda: _processes(run_directory))
        assert groups() == []
        assert list(run_directory.iterdir()) == []
        assert str(run_directory) not in Path("/proc/mounts").read_text()


def started(engine: docker.DockerClient) -> list[str]:
    """Return the nodes whose containers the engine lists as running."""
    found = engine.containers.list(filters={"label": LABEL}, ignore_removed=True)
    return sorted(container.attrs["Config"]["Hostname"] for container in found)


def test_containers_of_the_systems_engine_end_with_the_lab(
    delaylab: Run, own_engine: docker.DockerClient, tmp_path: Path
) -> None:
    path = tmp_path / "boxes.yaml"
    path.write_text(LAB.format(kind="docker", more=""))
    for end in ("down", "kill"):
        delaylab("up", str(path))
        # The engine lists a container some time after it has started.
        wait_until(lambda: started(own_engine) == ["a", "b"])
        if end == "down":
            delaylab("down", NAME)
        else:
            _kill(as_json(delaylab("ps", "--json"))["labs"][0]["keeper"])
        wait_until_gone(
            lambda: own_engine.containers.list(
                all=True, ignore_removed=True, filters={"label": LABEL}
            )
        )
        delaylab("down", "--all")
        assert groups() == []


def test_what_an_engine_lacks_is_one_clear_line(
    delaylab: Run, tmp_path: Path, run_directory: Path
) -> None:
    path = tmp_path / "boxes.yaml"
    path.write_text(LAB.format(kind="docker", more="image: nobody/has-this"))
    dead = {"DOCKER_HOST": f"unix://{tmp_path}/nobody.sock"}
    said = delaylab("up", str(path), code=1, env=dead).stderr
    assert "no container engine answers" in said
    assert "unset DOCKER_HOST" in said
    far = {"DOCKER_HOST": "tcp://192.0.2.1:2375"}
    said = delaylab("up", str(path), code=1, env=far).stderr
    assert "DOCKER_HOST=tcp://192.0.2.1:2375: an engine elsewhere cannot" in said
    said = delaylab("up", str(path), code=1).stderr
    assert 'no image "nobody/has-this"' in said
    assert groups() == []
    assert our_processes(str(run_directory)) == []


@pytest.mark.parametrize(
    ("kind", "more", "complaint"),
    [
        ("lxc", "image: /no/root", "node a: image: there is no folder /no/root"),
        ("lxc", "image: root", "'root' is relative"),
        ("docker", "image: /no/root.tar", "there is no file /no/root.tar"),
        ("qemu", "kernel: /no/vmlinux", "node a: kernel: there is no file /no/vmlinux"),
        ("uml", "initrd: /tmp", "node a: initrd: there is no file /tmp"),
    ],
)
def test_a_file_that_is_not_there_is_one_clear_line(
    delaylab: Run, tmp_path: Path, kind: str, more: str, complaint: str
) -> None:
    skip_unless_runnable(kind)
    path = tmp_path / "boxes.yaml"
    path.write_text(LAB.format(kind=kind, more=more))
    said = delaylab("up", str(path), code=2).stderr
    assert complaint in said
    assert len(said.splitlines()) == 1
    assert groups() == []


def test_an_engine_that_cannot_start_says_why(delaylab: Run, tmp_path: Path) -> None:
    skip_unless_runnable("docker")
    path, programs = tmp_path / "boxes.yaml", tmp_path / "programs"
    path.write_text(LAB.format(kind="docker", more=""))
    programs.mkdir()
    broken = programs / "dockerd"
    broken.write_text("#!/bin/sh\necho first; echo no room for data >&2; exit 1\n")
    broken.chmod(0o755)
    said = delaylab(
        "up", str(path), code=1, env={"PATH": f"{programs}:{os.environ['PATH']}"}
    ).stderr
    assert "dockerd has ended: first | no room for data" in said
    assert len(said.splitlines()) == 1
    assert groups() == []


def _processes(run_directory: Path) -> list[int]:
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if (
                folder.name.isdigit()
                and str(run_directory).encode() in (folder / "environ").read_bytes()
            ):
                found.append(int(folder.name))
        except OSError:
            continue
    return [pid for pid in found if pid != os.getpid()]


def _keeper(run_directory: Path) -> int | None:
    """The keeper is the oldest process of a lab that is not its starter."""
    agents = [pid for pid in _processes(run_directory) if _name(pid) == "delaylab-agent"]
    return min(agents, default=None)


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/exe").readlink().name
    except OSError:
        return ""


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
