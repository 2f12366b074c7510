"""`doctor --stable` on real packets."""

from __future__ import annotations

import json
import subprocess

import pytest

from tests.doing.conftest import DELAYLAB, Run, only_line

pytestmark = pytest.mark.root


def test_null_trials_say_whether_a_machine_is_fit() -> None:
    """The verdict depends on the machine; its agreement with reasons and exit code does not."""
    command = [str(DELAYLAB), "doctor", "--stable", "--trials", "6", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    said = json.loads(done.stdout)
    assert done.returncode == (0 if said["fit"] else 1)
    assert said["fit"] == (not said["faults"])
    assert (said["trials"], said["kind"]) == (6, "netns")
    assert said["sent"] >= 6 * 400
    assert 0 < said["median_us"] < 10**6


def test_bad_numbers_are_one_line(delaylab: Run) -> None:
    said = delaylab("doctor", "--stable", "--trials", "2", code=2)
    assert "from 6 to 1000 null trials, not 2" in only_line(said.stderr)
    said = delaylab("doctor", "--stable", "--kind", "vmware", code=2)
    assert "no kind 'vmware'" in only_line(said.stderr)
