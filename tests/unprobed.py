"""Datasets of studies without a probe: work whose times are given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from delaylab_study.dataset import store
from delaylab_study.dataset.records.tables import PROGRESS
from tests import synthetic

S = 1_000_000_000
PHASES = {"before": (0, 1), "load": (1, 3), "after": (3, 4)}
"""When each phase begins and ends, in s since the first sample of the machine's state."""


def job(node: str, wall_s: float, **more: Any) -> dict[str, Any]:
    """A node's part of 100 units of work `count`, with a CPU for itself."""
    return {
        "work": "count",
        "node": node,
        "kind": "netns",
        "unit": "units/s",
        "rate": 100 / wall_s,
        "wall_ns": round(wall_s * S),
        "user_ns": S,
        "system_ns": 0,
        "host_cpu_ns": S,
        **more,
    }


@dataclass
class Trial:
    """One trial: its levels, and what its nodes got done."""

    jobs: Sequence[dict[str, Any]]
    levels: dict[str, str] = field(default_factory=lambda: {"nodes": "some"})
    repeat: int = 1
    more: dict[str, Any] = field(default_factory=dict)
    hosts: pl.DataFrame = field(default_factory=lambda: synthetic.hosts(40))

    @property
    def condition(self) -> synthetic.Condition:
        return synthetic.Condition(factors=self.levels, repeat=self.repeat)


def record(trial: Trial, index: int) -> dict[str, Any]:
    """A trial's record as JSON values."""
    phases = [
        {"phase": name, "start_ns": synthetic.START + a * S, "end_ns": synthetic.START + b * S}
        for name, (a, b) in PHASES.items()
    ]
    return {
        "id": trial.condition.id,
        "index": index,
        "factors": trial.levels,
        "repeat": trial.repeat,
        "status": "ok",
        "phases": phases,
        "work": list(trial.jobs),
        **trial.more,
    }


def write(directory: Path, trials: Sequence[Trial], spec: dict[str, Any] | None = None) -> Path:
    """Write a study of these trials; return its directory."""
    raw = synthetic.study([each.condition for each in trials], [])
    synthetic.write_study(directory, raw | {"spec": {"study": "synthetic", **(spec or {})}})
    for index, trial in enumerate(trials):
        tables = {"hosts": trial.hosts, "progress": pl.DataFrame(schema=PROGRESS)}
        store.write_trial(directory, store.trial_record(record(trial, index)), tables)
    return directory
