"""Run the tests of one room: `make test T=plan`.

T is a folder or a file of tests (ground, doing/links), a room of the package (plan: the pure tests
that import it, or those with real packets if there are no others), or a crate (crates/link). Needs
nothing but Python: it sets up what these tests need.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
TESTS = ROOT / "tests"
REAL = ("packets", "images", "doing", "test_wheel.py")
"""Tests that run the agent, as in the Makefile."""


def tests_of(room: str) -> list[Path]:
    """Return the folders and files of tests of a room of tests or of the package."""
    name = room.removeprefix("tests/").rstrip("/")
    if name and (TESTS / name).exists():
        return [TESTS / name]
    imports = re.compile(
        rf"^\s*(?:from|import) delaylab(?:_study)?\.{name}\b"
        rf"|^\s*from delaylab(?:_study)? import .*\b{name}\b",
        re.M,
    )
    found = [
        path
        for path in sorted(TESTS.rglob("test_*.py"))
        if path.stem == f"test_{name}" or imports.search(path.read_text())
    ]
    return [path for path in found if not is_real(path)] or found


def is_real(path: Path) -> bool:
    """Return True if tests run the agent."""
    return path.relative_to(TESTS).parts[0] in REAL


def main(room: str) -> None:
    """Set up and become the test runner. Exits with a message if there is no such room."""
    os.chdir(ROOT)
    if room.startswith("crates/"):
        crate = f"delaylab-{room.removeprefix('crates/').rstrip('/')}"
        os.execvp("make", ["make", "--no-print-directory", "test-crate", f"CRATE={crate}"])
    paths = tests_of(room)
    if not paths:
        sys.exit(f"no tests of {room!r}: see CONTRIBUTING.md for what T may be")
    setup = "--tests" if any(map(is_real, paths)) else "--python"
    if code := subprocess.run(["tools/setup.sh", setup], check=False).returncode:
        sys.exit(code)
    one_file = len(paths) == 1 and paths[0].is_file()
    side_by_side = [] if one_file else ["--numprocesses", "logical", "--dist", "loadscope"]
    os.execv(".venv/bin/pytest", ["pytest", *side_by_side, *(str(path) for path in paths)])


if __name__ == "__main__":
    main(sys.argv[1])
