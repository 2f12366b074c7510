"""Kills, two at once, and what a machine can lack: one clear line, and nothing half built."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from delaylab import images
from tests.images.conftest import DELAYLAB, NEEDS_APT, environment
from tests.waiting import wait_until

Image = Callable[..., subprocess.CompletedProcess[str]]
DEADLINE_S = 250
UNSHARE = shutil.which("unshare")
NEEDS_UNSHARE = pytest.mark.skipif(UNSHARE is None, reason="no unshare here")


def start(cache: Path, *argv: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*DELAYLAB, "image", *argv],
        env=environment(cache),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def one_line(done: subprocess.CompletedProcess[str]) -> str:
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("delaylab: ")
    return lines[0]


@NEEDS_APT
def test_a_killed_build_leaves_nothing_that_counts_and_two_at_once_share_the_work(
    own_cache: Path,
) -> None:
    killed = start(own_cache, "build", "uml")
    wait_until(lambda: any(own_cache.glob(".partial-*/unpacked/*")), DEADLINE_S)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    assert not list(own_cache.glob(".partial-*/layer.json"))
    both = [start(own_cache, "build", "uml", "--json") for _ in range(2)]
    made = []
    for one in both:
        out, said = one.communicate(timeout=DEADLINE_S)
        assert one.returncode == 0, said
        made.append(json.loads(out)["images"]["uml"])
    assert made[0] == made[1]
    assert not list(own_cache.glob(".partial-*"))
    assert len(list(own_cache.glob("*/layer.json"))) == 4  # tools, kernel, agent, initrd: each once


def test_without_apt_the_error_says_what_to_do(image: Image, tmp_path: Path) -> None:
    line = one_line(image("build", "container", code=3, PATH=str(tmp_path)))
    assert "this system has no apt" in line
    assert "copy its cache folder" in line


@NEEDS_APT
@NEEDS_UNSHARE
def test_without_a_network_the_error_says_what_to_do(image: Image, tmp_path: Path) -> None:
    line = one_line(image("build", "uml", prefix=(str(UNSHARE), "-rn"), code=3))
    assert "could not be fetched" in line
    assert "connect this machine" in line
    assert not list((tmp_path / "cache").glob(".partial-*"))


@NEEDS_APT
@NEEDS_UNSHARE
def test_a_full_disk_is_told_before_anything_is_fetched(image: Image, tmp_path: Path) -> None:
    place = tmp_path / "cache"
    place.mkdir()
    mount = f'mount -t tmpfs -o size=8m,mode=700 small {place} && exec "$@"'
    prefix = (str(UNSHARE), "-rm", "sh", "-c", mount, "sh")
    line = one_line(image("build", "uml", prefix=prefix, code=3))
    assert "MiB are needed" in line
    assert "DELAYLAB_CACHE" in line


def test_a_cache_that_cannot_be_written_is_told(image: Image, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    assert "cannot be written" in one_line(image("build", "uml", code=3))


def test_an_unknown_image_is_told(image: Image) -> None:
    line = one_line(image("build", "cluod", code=2))
    assert all(name in line for name in images.IMAGES)
    assert "--old is for" in one_line(image("list", "--old", code=2))


def test_clean_removes_layers_and_nothing_else(image: Image, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    for number, name in enumerate(["tools-1", "tools-2", "mine"]):
        (cache / name).mkdir(parents=True)
        about = {
            "name": "tools",
            "recipe": "r",
            "made": f"2026-01-0{number + 1}",
            "size_bytes": 1,
            "made_of": ["busybox 1"],
        }
        if name != "mine":
            (cache / name / "layer.json").write_text(json.dumps(about))
    assert "removed: tools-1" in image("clean", "--old").stdout
    assert "tools-2" in image("list").stdout
    assert json.loads(image("clean", "--json").stdout)["layers"][0]["name"] == "tools"
    assert {path.name for path in cache.iterdir()} == {".lock", "mine"}
    assert "nothing" in image("clean").stdout
