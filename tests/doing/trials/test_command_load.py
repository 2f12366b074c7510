"""Loads by commands of a study's author: they run for the phase, or the trial says that not."""

from __future__ import annotations

from pathlib import Path

import pytest

from delaylab_study.dataset.store import read_study
from tests.doing.conftest import Run, as_json

pytestmark = pytest.mark.root

STUDY = """\
study: own-load
lab:
  lab: own-load
  nodes: {{a: {{}}, b: {{}}}}
  links: [{{between: [a, b]}}]
factors:
  load: {{rest: [], own: [{{on: b, {load}}}]}}
probe: {{from: a, to: b, count: 60, interval: 10ms, at_rest: 4}}
claims:
  - {{claim: own, of: rtt.app, group: {{load: own}}, against: {{load: rest}},
     median: {{more-than: -1s}}}}
"""


def run(delaylab: Run, folder: Path, load: str, code: int = 0) -> str:
    """Run the study with this load; return what it said."""
    (folder / "own-load.yaml").write_text(STUDY.format(load=load))
    done = delaylab("run", "own-load.yaml", "--out", "found", cwd=folder, code=code)
    return str(done.stdout + done.stderr)


@pytest.mark.parametrize(
    "load",
    [
        "command: 'while :; do :; done'",
        "command: [sh, -c, 'echo busy; while :; do :; done'], prints: busy",
        # A shell whose children go on, and that does not hear an interrupt.
        "command: 'trap : INT; while :; do sleep 0.1; done'",
    ],
)
def test_a_command_runs_for_the_phase_and_is_ended(
    delaylab: Run, tmp_path: Path, load: str
) -> None:
    run(delaylab, tmp_path, load)
    (loaded,) = (trial for trial in read_study(tmp_path / "found").trials if trial.loads)
    (own,) = loaded.loads
    assert own.load == "command"
    assert own.achieved["ran_share"] == 1.0
    assert "while :" in str(own.configured)


def test_a_command_that_ends_early_is_a_load_that_did_not_act(
    delaylab: Run, tmp_path: Path
) -> None:
    run(delaylab, tmp_path, "command: sleep 0.1")
    (claim,) = as_json(delaylab("show", "found", "--json", cwd=tmp_path))["claims"]
    assert "share of the time under load for which the command ran" in str(claim)


@pytest.mark.parametrize(
    ("load", "says"),
    [
        ("command: 'echo no such disk >&2; exit 3'", "exit code 3: no such disk"),
        ("command: 'true', prints: ready", "it ended before it printed 'ready'"),
        ("command: [no-such-program]", "no-such-program"),
    ],
)
def test_a_command_that_fails_fails_the_trial_and_says_why(
    delaylab: Run, tmp_path: Path, load: str, says: str
) -> None:
    assert says in " ".join(run(delaylab, tmp_path, load, code=1).split())


@pytest.mark.parametrize(
    ("load", "says"),
    [
        ("command: ''", "command: expected at least 1 characters"),
        ("cpu: 1, prints: x", "only a load of `command` has `prints`"),
        (
            "command: 'true', to: a",
            "a load of network, frames or requests needs `to`, and no other has it",
        ),
    ],
)
def test_bad_input_is_one_line(delaylab: Run, tmp_path: Path, load: str, says: str) -> None:
    said = run(delaylab, tmp_path, load, code=2)
    assert says in said
    assert said.count("\n") == 1
    assert "own-load.yaml:7" in said
