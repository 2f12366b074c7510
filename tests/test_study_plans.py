"""`delaylab run --dry-run` and `--list`."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from delaylab.cli import app
from delaylab.papers import studies
from delaylab.spec.load import load_study
from delaylab.study import estimate, order
from delaylab.units import Duration


def said(*argv: str) -> str:
    done = CliRunner().invoke(app, ["run", *argv], env={"COLUMNS": "80"})
    assert done.exit_code == 0, done.output
    return done.output


def test_a_dry_run_has_column_heads_and_says_how_long_all_takes() -> None:
    heads, *rows, total = said("quickstart", "--dry-run").splitlines()
    assert heads.split() == ["TIME", "PACKETS", "TRIAL"]
    assert all(row.split()[1] == "s" and row.split()[2] == "400" for row in rows)
    assert total.startswith("6 trials, 2400 packets: about ")


def test_a_dry_run_in_json_is_a_list_of_trials() -> None:
    trials = json.loads(said("quickstart", "--dry-run", "--json"))
    assert [set(trial) for trial in trials] == [{"id", "packets", "expected_s"}] * 6


def test_the_list_has_every_study_with_its_title() -> None:
    printed = said("--list")
    for name in studies.names():
        assert name in printed
    known = {study["name"]: study["title"] for study in json.loads(said("--list", "--json"))}
    assert set(known) == set(studies.names())
    assert all(known.values())


@pytest.mark.parametrize("name", studies.names())
def test_a_trial_takes_at_least_as_long_as_its_packets(name: str) -> None:
    planned = order.plan_trials(load_study(studies.find(name)), "quick", {})
    for trial, seconds in zip(planned, estimate.trials_s(planned), strict=True):
        probe = trial.combination.probe
        between = probe.pace.seconds if isinstance(probe.pace, Duration) else estimate.ROUND_TRIP_S
        assert seconds >= probe.count * between
