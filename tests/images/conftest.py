"""A cache of its own for these tests, with images really built from the distribution's packages."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from delaylab import images
from delaylab.images import tree
from tests.waiting import PATIENCE_S

SOURCE = Path(images.__file__).parent.parent.parent
Command = Callable[..., subprocess.CompletedProcess[str]]
NEEDS_APT = pytest.mark.skipif(shutil.which("apt-get") is None, reason="no apt-get here")


def environment(cache: Path, **more: str) -> dict[str, str]:
    """For a delaylab whose cache this is."""
    return {**os.environ, "DELAYLAB_CACHE": str(cache), "PYTHONPATH": str(SOURCE), **more}


DELAYLAB = [sys.executable, "-c", "from delaylab.cli import main; main()"]


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With the image `container`, and the kernel of User-Mode Linux; all workers have one.

    Who comes later waits for the builder, and finds what it has built.
    """
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    folder /= "cache-of-images"
    subprocess.run(
        [*DELAYLAB, "image", "build", "container", "uml"], env=environment(folder), check=True
    )
    return folder


@pytest.fixture
def own_cache(cache: Path, tmp_path: Path) -> Path:
    """A cache of one test, with the programs that every guest has and no more."""
    folder = tmp_path / "cache"
    for tools in cache.glob("tools-*"):
        shutil.copytree(tools, folder / tools.name, symlinks=True, copy_function=tree.link)
    return folder


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], None]:
    """Make a folder this process's cache."""
    return lambda folder: monkeypatch.setenv("DELAYLAB_CACHE", str(folder))


@pytest.fixture
def image(tmp_path: Path) -> Command:
    """`delaylab image …` on a cache of its own, which is empty without the fixture `own_cache`.

    `prefix` is run, with the command as its words.
    """

    def call(
        *argv: str, prefix: tuple[str, ...] = (), code: int = 0, **env: str
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [*prefix, *DELAYLAB, "image", *argv],
            env=environment(tmp_path / "cache", **env),
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_S,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done

    return call
