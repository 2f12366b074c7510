"""A trial whose nodes send what cannot be recorded has failed, with the reason; others go on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from delaylab.agent.result import AgentError
from delaylab.dataset import store
from delaylab.dataset.records.tables import COMPARISONS, PROGRESS
from delaylab.dataset.records.trial import Measurement, Repeats
from delaylab.spec.study.load import load_study
from delaylab.study import executor, runner
from delaylab.study.order import begin, plan_trials
from delaylab.trial.recording import Recording
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
        Measurement.model_validate(synthetic.trial(CONDITION, 0)),
        synthetic.hosts(),
        pl.DataFrame(schema=PROGRESS),
        {},
        stamps.with_columns(**columns),
        probes,
        pl.DataFrame(schema=COMPARISONS),
    )


def refused() -> Recording:
    raise AgentError("the agent sent a malformed table 'stamps': " + "x" * 30_000, "node.b")


def impossible() -> Recording:
    Repeats.model_validate({"phase": "load", "leg": "request", "point": "vif", "packets": -1})
    return recorded()


def without_rows() -> Recording:
    return recorded(time_ns=pl.Series([[]])[0][0])


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
        runner.run(out, planned, here, lambda _: None, lambda _: None)
    trials = {trial.factors["size"]: trial for trial in store.read_study(out).trials}
    assert {size: trial.status for size, trial in trials.items()} == {
        "small": "failed",
        "large": "ok",
    }
    reason = trials["small"].reason
    assert reason is not None
    assert says in reason
    assert len(reason) < 1000
