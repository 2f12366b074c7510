"""CPU time of control groups, from the files of both versions."""

from __future__ import annotations

from pathlib import Path

from delaylab.machine.cpu_time import used_s


def test_both_versions_are_read(tmp_path: Path) -> None:
    (tmp_path / "cpuacct.usage").write_text("1500000000\n")
    (tmp_path / "cpu.stat").write_text("usage_usec 2500000\nuser_usec 2000000\n")
    folder = str(tmp_path)
    assert used_s({"cpuset": folder, "cpuacct": folder}) == 1.5
    assert used_s({"unified": folder}) == 2.5


def test_what_is_not_told_is_none(tmp_path: Path) -> None:
    assert used_s({}) is None
    assert used_s({"cpuset": str(tmp_path)}) is None
    assert used_s({"cpuacct": str(tmp_path / "gone")}) is None
    (tmp_path / "cpu.stat").write_text("nr_periods 0\n")
    assert used_s({"unified": str(tmp_path)}) is None
