"""The texts of licences in the wheel are those of what is linked into its programs."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LISTED = frozenset(
    re.findall(r"^- (\S+ \d\S*)$", (ROOT / "LICENCES-OF-CRATES.txt").read_text(), re.MULTILINE)
)
FIX = "run `make licences`"


def test_the_crates_listed_have_their_locked_versions() -> None:
    locked = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    known = {f"{package['name']} {package['version']}" for package in locked}
    assert LISTED - known == set(), FIX


@pytest.mark.agent
def test_every_linked_crate_is_listed() -> None:
    programs = ["--package", "delaylab-agent", "--package", "delaylab-replay"]
    tree = ["cargo", "tree", "--locked", "--offline", "--edges", "normal", "--prefix", "none"]
    said = subprocess.run(
        [*tree, *programs], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    linked = {
        " ".join((name, version.removeprefix("v")))
        for name, version, *_ in map(str.split, filter(None, said.splitlines()))
        if not name.startswith("delaylab-")
    }
    assert linked
    assert linked - LISTED == set(), FIX
