"""Tests that fail beside others are run once more, alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tools import test_beside as beside
from tools import test_rust as rust

ONCE = """\
import pathlib
def test_once(): # fails at its first run
    mark = pathlib.Path({mark!r})
    known = mark.exists()
    mark.touch()
    assert known
def test_never(): assert {never}
def test_ok(): pass
"""
CARGO = """\

running 3 tests
FF.
failures:

---- one::fails stdout ----
    an indented line of its output

failures:
    one::fails
    one::too

test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out
error: test failed, to rerun pass `-p delaylab-agent --test serve`

running 1 test
F
failures:
    other
test result: FAILED. 0 passed; 1 failed
error: test failed, to rerun pass `-p delaylab-link --lib`
error: test failed, to rerun pass `-p delaylab-os --lib`

Caused by:
  process didn't exit successfully: `os-1234 --quiet` (signal: 11, SIGSEGV)
error: 3 targets failed:
    `-p delaylab-agent --test serve`
    `-p delaylab-link --lib`
"""


def suite(folder: Path, *, never: bool) -> list[beside.Failure]:
    """Run tests of which some fail by pytest with the plugin; return what it wrote."""
    tests = folder / "test_own.py"
    tests.write_text(ONCE.format(mark=str(folder / "mark"), never=never))
    results = folder / "results"
    results.mkdir()
    for name in ("rust.json", "pytest-1.json"):
        (results / name).write_text("[]")
    plugins = ["-p", "tests.conftest", "-p", "no:cacheprovider", "-p", "no:xdist"]
    argv = [sys.executable, "-m", "pytest", *plugins, f"--rootdir={folder}", str(tests)]
    environment = {**os.environ, beside.FAILED: str(results), "PYTHONPATH": str(beside.ROOT)}
    done = subprocess.run(argv, env=environment, check=False, capture_output=True, text=True)
    assert done.returncode == 1, done.stdout + done.stderr
    return [
        beside.Failure(each.name, [*argv[:-1], f"{tests}::{each.name.rpartition('::')[2]}"])
        for each in beside.failures(results)
    ]


def test_what_passes_alone_is_named_and_passes(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    failed = suite(tmp_path, never=True)
    assert [each.name.rpartition("::")[2] for each in failed] == ["test_once"]
    assert beside.verdict(failed) == 0
    assert "failed beside others, passed alone: test_own.py::test_once" in capfd.readouterr().err


def test_what_fails_again_fails_the_run(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    failed = suite(tmp_path, never=False)
    assert len(failed) == 2
    assert beside.verdict(failed) == 1
    assert "==> failed: test_own.py::test_never" in capfd.readouterr().err


def test_more_than_three_are_not_run_again(capfd: pytest.CaptureFixture[str]) -> None:
    failed = [beside.Failure(f"t{number}", ["true"]) for number in range(4)]
    assert beside.verdict(failed) == 1
    assert "4 tests failed" in capfd.readouterr().err


def test_a_suite_without_a_result_is_no_success(tmp_path: Path) -> None:
    (tmp_path / "rust.json").write_text("[]")
    with pytest.raises(beside.NoResult, match="1 of 3 suites"):
        beside.failures(tmp_path)


def test_failed_tests_of_rust_are_found_with_their_targets(monkeypatch: pytest.MonkeyPatch) -> None:
    agent = ["-p", "delaylab-agent", "--test", "serve"]
    assert list(rust.failed(CARGO.splitlines())) == [
        ("one::fails", agent),
        ("one::too", agent),
        ("other", ["-p", "delaylab-link", "--lib"]),
        ("", ["-p", "delaylab-os", "--lib"]),
    ]
    monkeypatch.setenv(rust.WRAPPER, "clippy-driver")
    command = ["cargo", "test", "--quiet", "--workspace", "--no-fail-fast"]
    alone = rust.again(command, "one::too", agent)
    words = (
        "RUSTC_WORKSPACE_WRAPPER=clippy-driver cargo test --quiet -p delaylab-agent --test serve"
    )
    assert alone == {
        "name": "-p delaylab-agent --test serve one::too",
        "again": ["env", *words.split(), "--", "--exact", "one::too"],
    }
