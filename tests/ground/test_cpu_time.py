"""CPU time of control groups, from the files of both versions."""

from __future__ import annotations

from pathlib import Path

from delaylab.machines.control_groups import LocalControlGroup


def test_both_versions_are_read(tmp_path: Path) -> None:
    (tmp_path / "cpuacct.usage").write_text("1500000000\n")
    (tmp_path / "cpu.stat").write_text("usage_usec 2500000\nuser_usec 2000000\n")
    folder = str(tmp_path)
    assert LocalControlGroup({"cpuset": folder, "cpuacct": folder}).cpu_s() == 1.5
    assert LocalControlGroup({"unified": folder}).cpu_s() == 2.5


def test_what_is_not_told_is_none(tmp_path: Path) -> None:
    assert LocalControlGroup({}).cpu_s() is None
    assert LocalControlGroup({"cpuset": str(tmp_path)}).cpu_s() is None
    assert LocalControlGroup({"cpuacct": str(tmp_path / "gone")}).cpu_s() is None
    (tmp_path / "cpu.stat").write_text("nr_periods 0\n")
    assert LocalControlGroup({"unified": str(tmp_path)}).cpu_s() is None
