"""Images built from real packages: they run, they are the same each time, they need no network."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from delaylab import images
from delaylab.agent.binary import agent_path
from delaylab.errors import BadInput
from delaylab.images import tools
from tests.images.conftest import NEEDS_APT

pytestmark = NEEDS_APT
LOADER = "lib64/ld-linux-x86-64.so.2"


def layer(cache: Path, name: str) -> Path:
    (found,) = cache.glob(f"{name}-[0-9a-f]*")
    return found


def run_in(root: Path, *argv: str, cwd: Path | None = None, stdin: Path | None = None) -> str:
    """Run a program of the tree with the tree's own loader and libraries, and no others."""
    libraries = root / "lib/x86_64-linux-gnu"
    loader = (root / LOADER, "--inhibit-cache", "--library-path", libraries)
    with (stdin or Path(os.devnull)).open("rb") as given:
        done = subprocess.run(
            [*map(str, loader), str(root / argv[0]), *argv[1:]],
            cwd=cwd,
            stdin=given,
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize(
    ("program", "argument", "says"),
    [
        ("bin/busybox", "--help", "BusyBox"),
        ("bin/stress-ng", "--version", "stress-ng"),
        ("bin/iperf3", "--version", "iperf"),
        ("bin/ping", "-V", "iputils"),
        ("bin/ip", "-V", "iproute2"),
        ("sbin/tc", "-V", "iproute2"),
        ("sbin/delaylab-agent", "--help", "delaylab"),
    ],
)
def test_every_program_runs_with_the_libraries_of_the_image(
    cache: Path, use: Callable[[Path], None], program: str, argument: str, says: str
) -> None:
    use(cache)
    root = images.require("container")["rootfs"]
    if program == "sbin/delaylab-agent":  # static: it runs anywhere
        assert (root / program).read_bytes() == agent_path().read_bytes()
    else:
        assert says in run_in(root, program, argument)


def test_a_stressor_stresses(cache: Path, use: Callable[[Path], None], tmp_path: Path) -> None:
    use(cache)
    root = images.require("container")["rootfs"]
    said = run_in(root, "bin/stress-ng", "--cpu", "1", "--cpu-ops", "5", "--metrics", cwd=tmp_path)
    assert "successful run completed" in said


def test_the_archive_is_the_tree(cache: Path, tmp_path: Path) -> None:
    root = layer(cache, "tools") / "rootfs"
    archive = layer(cache, "tools") / "tools.cpio"
    listed = run_in(root, "bin/busybox", "cpio", "-tv", stdin=archive)
    assert all(" 0/0 " in line or "root" in line for line in listed.splitlines()[:-1])
    files = {path.relative_to(root): path for path in root.rglob("*")}
    names = {Path(line.split(" -> ")[0].split()[-1]) for line in listed.splitlines()[:-1]}
    assert names == {*files, *map(Path, tools.DEVICES)}
    unpacked = tmp_path / "unpacked"
    unpacked.mkdir()
    run_in(root, "bin/busybox", "cpio", "-id", *map(str, files), cwd=unpacked, stdin=archive)
    for name, path in files.items():
        assert (unpacked / name).lstat().st_mode == path.lstat().st_mode, name
        if path.is_symlink():
            assert (unpacked / name).readlink() == path.readlink()
        elif path.is_file():
            assert (unpacked / name).read_bytes() == path.read_bytes()


def test_modules_come_with_all_that_they_need(
    cache: Path, use: Callable[[Path], None], tmp_path: Path
) -> None:
    use(cache)
    busybox = layer(cache, "tools") / "rootfs"
    initrd = images.require("uml")["initrd"]
    archive = layer(cache, "kernel-uml") / "modules.cpio"
    assert archive.read_bytes() in initrd.read_bytes()
    run_in(busybox, "bin/busybox", "cpio", "-id", cwd=tmp_path, stdin=archive)
    folder = tmp_path / "lib/delaylab"
    index = json.loads((folder / "modules.json").read_text())
    assert index["sch_netem"]["file"] == "sch_netem.ko"
    for name, module in index.items():
        if module["file"] is not None:
            assert (folder / "modules" / module["file"]).read_bytes()[:4] == b"\x7fELF", name
        for position, need in enumerate(module["needs"]):
            assert {*index[need]["needs"]} <= {*module["needs"][:position]}, name
    assert {path.stem for path in (folder / "modules").iterdir()} <= {*index}


def test_once_built_neither_apt_nor_a_network_is_asked(
    cache: Path, use: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    use(cache)
    monkeypatch.setenv("DELAYLAB_AGENT", str(agent_path()))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert images.is_built("container")
    said: list[str] = []
    files = images.require("uml", lambda what, share: said.append(what))
    assert files["linux"].stat().st_mode & 0o111
    assert not said


def test_words_of_a_plan_become_paths(cache: Path, use: Callable[[Path], None]) -> None:
    use(cache)
    files = images.require("container")
    text = "lxc.rootfs.path=dir:{image:container/rootfs},{folder},{image:container/tar}"
    expected = f"lxc.rootfs.path=dir:{files['rootfs']},{{folder}},{files['tar']}"
    assert images.resolve(text) == expected
    with pytest.raises(BadInput, match="no image 'cludo'"):
        images.resolve("{image:cludo/kernel}")
    with pytest.raises(BadInput, match="no 'kernel'"):
        images.resolve("{image:container/kernel}")


def test_ones_own_initrd_gets_the_agent_behind_it(
    cache: Path, use: Callable[[Path], None], tmp_path: Path
) -> None:
    use(cache)
    own = tmp_path / "own.img"
    own.write_bytes((layer(cache, "tools") / "tools.cpio").read_bytes() + b"odd")
    made = Path(images.resolve(f"{{image:with-agent/{own}}}"))
    joined = made.read_bytes()
    agent = (layer(cache, "agent") / "agent.cpio").read_bytes()
    assert joined.startswith(own.read_bytes())
    assert joined.endswith(bytes(509) + agent)
    assert images.resolve(f"{{image:with-agent/{own}}}") == str(made)
    with pytest.raises(BadInput, match="cannot be read"):
        images.resolve(f"{{image:with-agent/{tmp_path}/none}}")


@pytest.mark.slow
def test_the_same_packages_give_the_same_bytes(
    cache: Path, image: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    made = json.loads(image("build", "container", "--json").stdout)
    again = Path(made["images"]["container"]["tar"])
    assert again.parent.name == layer(cache, "container").name

    def digest(path: Path) -> str:
        return hashlib.sha256(path.read_bytes()).hexdigest()

    for name, file in (("container", "rootfs.tar"), ("tools", "tools.cpio")):
        other = layer(again.parent.parent, name) / file
        assert digest(other) == digest(layer(cache, name) / file)
