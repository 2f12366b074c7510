"""Standard streams that are closed, full, or of another encoding: one line, and no traceback."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.doing.conftest import DELAYLAB, only_line
from tests.waiting import PATIENCE_S

ONE_PING = f"{DELAYLAB} ping -c 1 127.0.0.1"


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    argv = ["sh", "-c", command]
    return subprocess.run(
        argv, capture_output=True, text=True, timeout=PATIENCE_S, check=False, cwd=folder
    )


@pytest.mark.parametrize("verb", ["ps", "ps --json", "--help", "ping -c 1 127.0.0.1"])
def test_output_that_cannot_be_written_is_one_line(verb: str, tmp_path: Path) -> None:
    full = shell(f"exec {DELAYLAB} {verb} >/dev/full", tmp_path)
    assert only_line(full.stderr) == "delaylab: standard output: No space left on device"
    assert full.returncode == 1
    closed = shell(f"exec {DELAYLAB} {verb} >&-", tmp_path)
    assert only_line(closed.stderr).startswith("delaylab: standard output is closed")
    assert closed.returncode == 1


def test_closed_input_and_errors_do_no_harm(tmp_path: Path) -> None:
    done = shell(f"exec {DELAYLAB} ps <&- 2>&-", tmp_path)
    assert (done.returncode, done.stdout) == (0, "no lab is up\n")


@pytest.mark.parametrize("files", [6, 8, 10])
def test_too_few_open_files_are_one_line(files: int, tmp_path: Path) -> None:
    (tmp_path / "lab.yaml").write_text("lab: few\nnodes: {a: {}}\n")
    done = shell(f"ulimit -n {files}; exec {DELAYLAB} up lab.yaml", tmp_path)
    assert done.returncode == 1
    assert "Too many open files" in only_line(done.stderr)


def test_an_encoding_without_the_signs_shows_escapes(tmp_path: Path) -> None:
    done = shell(f"PYTHONIOENCODING=ascii exec {ONE_PING}", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "\\xb5s" in done.stdout
