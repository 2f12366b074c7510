"""A trial whose nodes send what cannot be recorded has failed, with the reason; others go on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import polars as pl
import pytest

from delaylab.agent.result import AgentError
from delaylab.lab.running import LiveLab
from delaylab_study.dataset import store
from delaylab_study.dataset.intact import set_lost_aside
from delaylab_study.dataset.records.tables import ANSWERS, COMPARISONS, PROGRESS
from delaylab_study.dataset.records.trial import Measurement, Repeats
from delaylab_study.study import executor, runner
from delaylab_study.study.order import begin, plan_trials
from delaylab_study.study_file.load import load_study
from delaylab_study.trial.recording import Recording
from tests import synthetic
from tests.synthetic import Condition

STUDY = """\
study: few
lab: {lab: few, nodes: {a: {}, b: {}}, links: [{between: [a, b]}]}
factors: {load: {rest: []}, size: {small: {probe.size: 60}, large: {probe.size: 900}}}
probe: {from: a, to: b, count: 200, interval: 5ms}
"""
CONDITION = Condition(load="rest", packets=20)


def recorded(**columns: pl.Expr) -> Recording:
    stamps, probes = synthetic.tables(CONDITION)
    return Recording(
        record=Measurement.model_validate(synthetic.trial(CONDITION, 0)),
        hosts=synthetic.hosts(),
        progress=pl.DataFrame(schema=PROGRESS),
        of_routers={},
        stamps=stamps.with_columns(**columns),
        probes=probes,
        answers=pl.DataFrame(schema=ANSWERS),
        of_cpus={},
        comparisons=pl.DataFrame(schema=COMPARISONS),
    )


def refused() -> Recording:
    raise AgentError("the agent sent a malformed table 'stamps': " + "x" * 30_000, "node.b")


def impossible() -> Recording:
    Repeats.model_validate({"phase": "load", "leg": "request", "point": "vif", "packets": -1})
    return recorded()


def without_rows() -> Recording:
    return recorded(time_ns=pl.Series([[]])[0][0])


@pytest.mark.parametrize("cut_off", [True, False])
def test_a_trial_that_a_machine_was_cut_off_in_is_marked_as_such(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cut_off: bool
) -> None:
    """The error itself may come from anywhere, such as an agent that says no more."""
    (tmp_path / "few.yaml").write_text(STUDY)
    study = load_study(tmp_path / "few.yaml")
    planned = plan_trials(study, "quick", {})
    out = begin(study, "quick", planned, tmp_path / "run")
    machine = SimpleNamespace(is_cut_off=lambda: cut_off)

    def started(bench: executor.Bench, _: object) -> None:
        bench._lab = cast("LiveLab", SimpleNamespace(machines={"m2": machine}, close=lambda: None))

    monkeypatch.setattr(executor.Bench, "lab", started)
    monkeypatch.setattr(executor, "_measured", lambda *_: refused())
    with executor.Here() as here:
        runner.run(out, planned, here, lambda _: None, lambda *_: None)
    lost = ["m2" if cut_off else None] * 2
    assert [trial.lost for trial in store.read_study(out).trials] == lost
    assert len(set_lost_aside(out)) == 2 * cut_off
    assert len(store.finished(out)) == 2 - 2 * cut_off


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (lambda: recorded(time_ns=pl.lit(-1, pl.Int64)), "column 'time_ns' has times before 1970"),
        (lambda: recorded(leg=pl.lit("sideways")), "is no leg"),
        (refused, "node.b: the agent sent a malformed table"),
        (impossible, "cannot be recorded: ValidationError"),
        (without_rows, "cannot be recorded: IndexError"),
    ],
    ids=range(5),
)
def test_it_costs_one_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bad: Callable[[], Recording], says: str
) -> None:
    (tmp_path / "few.yaml").write_text(STUDY)
    study = load_study(tmp_path / "few.yaml")
    planned = plan_trials(study, "quick", {})
    out = begin(study, "quick", planned, tmp_path / "run")
    measured = lambda _, item, *__: bad() if "small" in item.id else recorded()  # noqa: E731
    monkeypatch.setattr(executor.Bench, "lab", lambda *_: None)
    monkeypatch.setattr(executor, "_measured", measured)
    with executor.Here() as here:
        runner.run(out, planned, here, lambda _: None, lambda *_: None)
    trials = {trial.factors["size"]: trial for trial in store.read_study(out).trials}
    assert {size: trial.status for size, trial in trials.items()} == {
        "small": "failed",
        "large": "ok",
    }
    reason = trials["small"].reason
    assert reason is not None
    assert says in reason
    assert len(reason) < 1000
