"""The numbers of a study as JSON, for scripts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from delaylab.analysis.statistics import Quantile, Summary
from delaylab.analysis.trial import SegmentSummary, TrialSummary, analyse
from delaylab.dataset import TrialRecord, read_study


def as_json(directory: Path) -> dict[str, Any]:
    """Return the study, its trials and its claims as plain JSON values; delays in µs.

    `rtt` is round trip; a segment's delay is one way. Raises `BadInput` for a damaged dataset.
    """
    study = read_study(directory)
    trials = [
        _trial(trial, analyse(study, trial) if trial.status == "ok" else None)
        for trial in study.trials
    ]
    return {
        "study": study.record.study,
        "machine": study.record.machine.model_dump(),
        "trials": trials,
        "claims": [],
    }


def _trial(trial: TrialRecord, summary: TrialSummary | None) -> dict[str, Any]:
    return {
        "id": trial.id,
        "factors": trial.factors,
        "status": trial.status,
        "reason": trial.reason,
        "warnings": [warning.model_dump() for warning in trial.warnings],
        "rtt": {name: _summary(s) for name, s in summary.rtt.items()} if summary else {},
        "segments": [_segment(segment) for segment in summary.segments] if summary else [],
    }


def _segment(segment: SegmentSummary) -> dict[str, Any]:
    return {
        "leg": segment.leg,
        "from": segment.start,
        "to": segment.end,
        "layer": segment.layer,
        "direction": segment.direction,
        "merged": segment.merged,
        **_summary(segment.delay),
    }


def _summary(summary: Summary) -> dict[str, Any]:
    return {
        "n": summary.n,
        **_quantile("median_us", summary.median),
        **_quantile("p90_us", summary.p90),
        **_quantile("p99_us", summary.p99),
        **_quantile("p999_us", summary.p999),
        "max_us": summary.max,
    }


def _quantile(name: str, quantile: Quantile) -> dict[str, Any]:
    return {name: quantile.value, f"{name}_interval": quantile.interval}
