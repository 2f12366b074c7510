"""The plan that is kept beside a running lab: the one that the lab was built by."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

import pytest

from delaylab.kinds import KINDS
from delaylab.lab.attach import attach
from delaylab.machines import LOCAL
from delaylab.plan.build import build
from delaylab.plan.kept import KeptPlan, read, written
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


def test_a_running_labs_plan_is_the_one_it_was_built_by(
    delaylab: Run, tmp_path: Path, run_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is read, not made again: another user's rights may have changed since."""
    monkeypatch.setenv("DELAYLAB_RUN", str(run_directory))
    file = tmp_path / "lab.yaml"
    file.write_text(LAB)
    delaylab("up", str(file))
    lab = attach("laid")
    built = build(lab.spec, KINDS, LOCAL.rights(), name="laid")
    assert lab.plan == read(written(built))
    assert {each.name: getattr(lab.plan, each.name) for each in fields(lab.plan)} == {
        each.name: getattr(built, each.name) for each in fields(KeptPlan)
    }
    assert lab.plan.guests == ("node.box",)
    assert lab.plan.engines == {"link.left": "own", "link.right": "own"}
    on_left = [each for each in lab.plan.on_link("wan") if each.host == "left"]
    assert {each.port for each in on_left} == {on_left[0].port}
    assert [each.node for each in on_left] == ["a", "b"]


def test_a_lab_of_another_version_can_still_be_taken_down(
    delaylab: Run, tmp_path: Path, run_directory: Path
) -> None:
    file = tmp_path / "lab.yaml"
    file.write_text("lab: old\nnodes: {a: {}}\n")
    delaylab("up", str(file))
    record = run_directory / "old" / "lab.json"
    content = json.loads(record.read_text())
    content["record"] = {"spec": json.loads(content["record"]["spec_json"]), "layout": {}}
    record.write_text(json.dumps(content))
    said = delaylab("ps", code=1)
    assert "was started by another version of delaylab" in said.stderr
    delaylab("down", "old")
    assert not (run_directory / "old").exists()
