"""Programs outside the lab that take CPU time are named; those of the lab are not."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.doing.conftest import Run

pytestmark = pytest.mark.root
SPIN = ("-c", "while :; do :; done")
PREFERRED = ("nice", "-n", "-5")
"""The start of a command that gets most of a CPU: only the busiest programs are named."""
STUDY = """\
study: disturbed
lab:
  lab: disturbed
  nodes:
    a: {{start: [{{run: [nice, -n, "-5", {inside}, -c, "while :; do :; done"]}}]}}
    b: {{}}
  links: [{{between: [a, b]}}]
probe: {{from: a, to: b, count: 200, interval: 10ms, at_rest: 200}}
"""


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[str]:
    """Keep a CPU busy with a program of this name; the machine is the only one that has it."""
    program = tmp_path / "dis turber"
    shutil.copy("/bin/sh", program)
    busy = subprocess.Popen([*PREFERRED, program, *SPIN])
    yield program.name.replace(" ", "_")
    busy.kill()
    busy.wait()


def test_the_disturber_is_named_and_the_lab_is_not(
    delaylab: Run, outside: str, tmp_path: Path
) -> None:
    inside = tmp_path / "insider"
    shutil.copy("/bin/sh", inside)
    study, data = tmp_path / "study.yaml", tmp_path / "data"
    study.write_text(STUDY.format(inside=inside))
    delaylab("run", str(study), "--out", str(data))
    shown = json.loads(delaylab("show", str(data), "--json").stdout)
    (trial,) = shown["trials"]
    named = {
        program["name"]: program["cpus"]
        for phase in trial["machine_state"]["phases"]
        for program in phase["programs"]
    }
    assert named[outside] > 0, named
    assert inside.name not in named
    doubts = [each["message"] for each in trial["warnings"] if each["kind"] == "not-at-rest"]
    assert any(f"{outside} " in each for each in doubts), trial["warnings"]
    at_slowest = [
        program["name"] for packet in trial["slowest"] for program in packet["machine"]["programs"]
    ]
    assert outside in at_slowest
