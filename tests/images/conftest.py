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

SOURCE = Path(images.__file__).parent.parent.parent
Command = Callable[..., subprocess.CompletedProcess[str]]
NEEDS_APT = pytest.mark.skipif(shutil.which("apt-get") is None, reason="no apt-get here")


def environment(cache: Path, **more: str) -> dict[str, str]:
    """For a delaylab whose cache this is."""
    return {**os.environ, "DELAYLAB_CACHE": str(cache), "PYTHONPATH": str(SOURCE), **more}


DELAYLAB = [sys.executable, "-c", "from delaylab.cli import main; main()"]


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With the image `container`, and the kernel of User-Mode Linux."""
    folder = tmp_path_factory.mktemp("cache")
    subprocess.run(
        [*DELAYLAB, "image", "build", "container", "uml"], env=environment(folder), check=True
    )
    return folder


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], None]:
    """Make a folder this process's cache."""
    return lambda folder: monkeypatch.setenv("DELAYLAB_CACHE", str(folder))


@pytest.fixture
def image(tmp_path: Path) -> Command:
    """`delaylab image …` on an empty cache of its own; `prefix` is run with it as its words."""

    def call(
        *argv: str, prefix: tuple[str, ...] = (), code: int = 0, **env: str
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [*prefix, *DELAYLAB, "image", *argv],
            env=environment(tmp_path / "cache", **env),
            capture_output=True,
            text=True,
            check=False,
            timeout=280,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done

    return call
