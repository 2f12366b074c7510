"""Programs outside the lab that take CPU time are named; those of the lab are not."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.doing.conftest import DELAYLAB, Run
from tests.waiting import wait_until

pytestmark = pytest.mark.root
SPIN = ("-c", "while :; do :; done")
PREFERRED = ("nice", "-n", "-5")
"""The start of a command that gets most of a CPU: only the three busiest programs are named."""
NAME = "dis turber"
# Programs are read once a second, so each phase takes one or more.
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
def outside(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Keep a CPU busy with a program whose name no other one has."""
    program = tmp_path / NAME
    shutil.copy("/bin/sh", program)
    busy = subprocess.Popen([*PREFERRED, program, *SPIN])
    yield busy
    busy.kill()
    busy.wait()


def test_the_disturber_is_named_and_the_lab_is_not(
    delaylab: Run, outside: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    inside = tmp_path / "insider"
    shutil.copy("/bin/sh", inside)
    study, data = tmp_path / "study.yaml", tmp_path / "data"
    study.write_text(STUDY.format(inside=inside))
    with subprocess.Popen([str(DELAYLAB), "run", str(study), "--out", str(data)]) as run:
        wait_until(lambda: any(data.glob("trials/*/trial.json")))
        outside.kill()  # the report needs no disturber
    assert run.returncode == 0
    shown = json.loads(delaylab("show", str(data), "--json").stdout)
    (trial,) = shown["trials"]
    told = NAME.replace(" ", "_")
    named = {
        program["name"]: program["cpus"]
        for phase in trial["machine_state"]["phases"]
        for program in phase["programs"]
    }
    assert named[told] >= 0.1, named
    assert inside.name not in named
    doubts = [each["message"] for each in trial["warnings"] if each["kind"] == "not-at-rest"]
    assert any(f"{told} " in each for each in doubts), trial["warnings"]
    at_slowest = [
        program["name"] for packet in trial["slowest"] for program in packet["machine"]["programs"]
    ]
    assert told in at_slowest
