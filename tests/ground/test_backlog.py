"""The kernel's backlog of each CPU is read as softnet_stat has it."""

from __future__ import annotations

from pathlib import Path

import pytest

from delaylab.machines.backlog import Backlog, backlog

OLD = "000000a1 00000000 0000001f 00000000\n0000000b 00000010 00000001 00000000\n"
ROW = "00000001 {dropped:08x} {squeezed:08x}" + " 00000000" * 9 + " {cpu:08x} 00000000 00000000\n"


def test_each_cpu_has_its_drops(tmp_path: Path) -> None:
    source = tmp_path / "softnet_stat"
    source.write_text(OLD)
    assert backlog(source) == Backlog({1: 16}, 32)
    # CPU 1 is off: the second line is that of CPU 2.
    source.write_text(
        ROW.format(dropped=0, squeezed=3, cpu=0) + ROW.format(dropped=7, squeezed=4, cpu=2)
    )
    found = backlog(source)
    assert found == Backlog({2: 7}, 7)
    assert "dropped 7 (CPU 2: 7;" in found.text


@pytest.mark.parametrize("text", ["", "no numbers\n", "0001\n"])
def test_a_kernel_that_says_something_else_says_nothing(tmp_path: Path, text: str) -> None:
    source = tmp_path / "softnet_stat"
    source.write_text(text)
    assert backlog(source) in (None, Backlog({}, 0))
    assert backlog(tmp_path / "none") is None
