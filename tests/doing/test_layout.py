"""The layout beside a running lab, by which `ps` and `link show` answer without a plan."""

from __future__ import annotations

from pathlib import Path

import pytest

from delaylab.lab.attach import attach
from delaylab.plan.layout import layout
from tests.doing.conftest import Run

pytestmark = pytest.mark.root

LAB = """\
lab: laid
hosts: {left: {}, right: {}}
nodes:
  a: {host: left, kind: shared}
  b: {host: left, kind: shared}
  c: {host: right}
  box: {host: right, kind: lxc}
links:
  - {join: [a, b, c], name: wan, delay: 1ms}
  - {join: [c, box], name: lan}
"""


def test_the_layout_beside_a_lab_is_that_of_its_plan(
    delaylab: Run, tmp_path: Path, run_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DELAYLAB_RUN", str(run_directory))
    file = tmp_path / "lab.yaml"
    file.write_text(LAB)
    delaylab("up", str(file))
    lab = attach("laid")
    assert lab.layout == layout(lab.spec, lab.plan)
    assert lab.layout.guests == ("node.box",)
    assert lab.layout.engines == {"link.left": "own", "link.right": "own"}
    assert sorted(lab.layout.ports["wan"]["left"].values()) == [["a", "b"]]
