"""Threads of a recorded program: a replay has the order in which they ran."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from delaylab.lab.programs.programs import output
from delaylab.lab.start import temporary
from delaylab.replaying.record import ABOUT
from tests.doing.conftest import Run, as_json
from tests.doing.replay.test_replay import ends_well, lab, recorder

pytestmark = pytest.mark.root
SOURCE = Path(__file__).parent / "race.c"


def test_threads_that_share_memory_are_replayed_in_their_order(
    tmp_path: Path, delaylab: Run
) -> None:
    race = tmp_path / "race"
    subprocess.run(["cc", "-g", "-O1", "-pthread", "-o", race, SOURCE], check=True)
    again = "/tmp/again"
    # The second start is recorded. It may end in its first second, and is then started again.
    second = f"if [ -e {again}2 ]; then echo ready; exec sleep 99; fi; touch {again}2; exec {race}"
    run = f"if [ -e {again} ]; then {second}; fi; touch {again}; echo ready; sleep 99"
    folder = tmp_path / "recording"
    with temporary(lab(run)) as running:
        with recorder(running, folder) as process:
            ends_well(process)
        assert json.loads((folder / ABOUT).read_text())["exit"] == 3
        printed = max(output(running, "one", "fragile").decode().split(), key=len)
    # The threads did not simply take turns, or the test shows less than it says.
    assert len(printed) == 4 * 300
    assert len({printed[at : at + 4] for at in range(0, len(printed), 4)}) > 4
    for _ in range(3):
        done = as_json(delaylab("replay", str(folder), "--json"))
        assert (done["how"], done["end"]) == ("equal", "end with exit code 3")
