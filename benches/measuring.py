"""Benchmark of a study's wall time: the share spent on measuring packets, and the rest."""

from __future__ import annotations

import tempfile
import time
from collections import defaultdict
from datetime import datetime
from pathlib import Path
from statistics import median

import polars as pl
from rich.console import Console

from benches.section import Section
from delaylab_study.dataset.records.trial import TrialRecord
from delaylab_study.dataset.store import Study, read_study
from delaylab_study.study.order import Planned
from delaylab_study.verbs import studies
from delaylab_study.verbs.study_file import load

STUDY, SCALE = "dantas2015", "quick"
GOAL = 0.6
MEASURED, REPORT, FAILED = "packets measured", "tables and report", "trials that failed"
LAB, SHARED = "a lab comes up, clocks are read", "a lab is shared, clocks are read"
BEFORE_PHASE = {"before": "taps start", "load": "load starts", "after": "load stops"}
ENDING, WRITING = "clocks are read, instruments stop", "tables are written"
Seconds = dict[str, float]
"""Seconds by the activity that they were spent on."""


def run(directory: Path | None = None) -> Section:
    """Measure a dataset that is there, or run the study now, with its report."""
    if directory is not None:
        return _section(directory, _report_s(directory))
    with tempfile.TemporaryDirectory(prefix="dl-") as name:
        directory = Path(name)
        studies.begin(studies.planned_study(load(STUDY).study, SCALE, {}), directory)
        studies.run(directory, Console())
        return _section(directory, _report_s(directory))


def _report_s(directory: Path) -> float:
    """Return the seconds that the study's tables and report take, by making them once more."""
    began = time.monotonic()
    studies.finish(directory, Console(stderr=True, quiet=True))
    return time.monotonic() - began


def _section(directory: Path, report_s: float) -> Section:
    study = read_study(directory)
    trials = spent(study, studies.planned_in(directory))
    wall = sum(sum(seconds.values()) for seconds in trials.values()) + report_s
    section = Section(
        "measuring",
        "A study's time",
        f"{study.record.study} at scale {study.record.scale}, {len(study.trials)} trials, from "
        f"start to report in {wall:.0f} s. Measuring is the time from a phase's first packet until "
        f"its last is answered or given up. Goal: at least {GOAL:.0%} of the time.",
        ("what", "seconds", "share of the time", "per trial, median", "most"),
    )
    by_what: dict[str, list[float]] = defaultdict(list)
    for seconds in trials.values():
        for what, value in seconds.items():
            by_what[what].append(value)
    by_what[REPORT].append(report_s)
    for what, values in sorted(by_what.items(), key=lambda item: -sum(item[1])):
        total = sum(values)
        numbers = (f"{total:.1f}", f"{total / wall:.1%}", f"{median(values):.2f}")
        section.rows.append((what, *numbers, f"{max(values):.2f}"))
    ups = {name: seconds[LAB] for name, seconds in trials.items() if LAB in seconds}
    slowest = sorted(ups, key=ups.__getitem__, reverse=True)[:3]
    named = "; ".join(f"{name} ({ups[name]:.1f} s)" for name in slowest)
    section.notes.append(f"{len(ups)} labs; slowest to come up: {named or 'none'}.")
    return section


def spent(study: Study, planned: list[Planned]) -> dict[str, Seconds]:
    """Return for each trial the seconds by activity, from the end of the trial before it."""
    own = {item.id: item for item in planned}
    before = dict(zip([item.id for item in planned[1:]], planned, strict=False))
    result = {}
    last_s = _seconds(study.record.created)
    for trial in study.trials:
        assert trial.started is not None
        assert trial.ended is not None
        seconds = {WRITING: _seconds(trial.started) - last_s}
        last_s = _seconds(trial.ended)
        if trial.status == "ok":
            item, other = own[trial.id], before.get(trial.id)
            shares = other is not None and other.combination.lab == item.combination.lab
            probe = item.combination.probe
            linger_s = probe.late.seconds if probe is not None else 0.0
            seconds |= _of_trial(study, trial, linger_s, SHARED if shares else LAB)
        else:
            seconds[FAILED] = last_s - _seconds(trial.started)
        result[trial.id] = seconds
    return result


def _of_trial(study: Study, trial: TrialRecord, linger_s: float, first: str) -> Seconds:
    """Return one trial's seconds by activity; `first` names the time before the first packet."""
    assert trial.started is not None
    assert trial.ended is not None
    at = _seconds(trial.started)
    seconds = {MEASURED: 0.0}
    for phase, began, ended in _phases(study, trial, linger_s):
        seconds[BEFORE_PHASE.get(phase, "") if first in seconds else first] = began - at
        seconds[MEASURED] += ended - began
        at = ended
    seconds[ENDING] = _seconds(trial.ended) - at
    return seconds


def _phases(study: Study, trial: TrialRecord, linger_s: float) -> list[tuple[str, float, float]]:
    """Return each phase with its begin and end, in seconds of this machine's clock."""
    replies = (
        study.stamps(trial.id)
        .filter(pl.col("point") == "sender.app", pl.col("leg") == "reply")
        .select("seq", reply_ns="time_ns")
    )
    phases = (
        study.probes(trial.id)
        .join(replies, on="seq", how="left")
        .group_by("phase")
        .agg(
            began=pl.col("intended_ns").min(),
            last=pl.col("intended_ns").max(),
            replied=pl.col("reply_ns").max(),
            lost=(pl.col("outcome") == "lost").any(),
        )
        .sort("began")
    )
    offset_s = _offset_ns(trial) / 1e9
    result = []
    for phase in phases.iter_rows(named=True):
        # The wait for a packet that does not come is measuring, too: it finds that the packet is
        # lost.
        end_s = max(phase["last"], phase["replied"] or 0) / 1e9
        if phase["lost"]:
            end_s = phase["last"] / 1e9 + linger_s
        result.append((phase["phase"], phase["began"] / 1e9 + offset_s, end_s + offset_s))
    return result


def _offset_ns(trial: TrialRecord) -> float:
    """Return the offset in ns to add to the sender's clock to get this machine's time.

    It is 0 if the sender's clock was never read against this machine's, because the two are the
    same.
    """
    offsets = [
        (reading.before_ns + reading.after_ns) / 2 - reading.other_ns
        for reading in trial.clock_readings
        if reading.clock == trial.clock
    ]
    return median(offsets) if offsets else 0.0


def _seconds(iso: str) -> float:
    return datetime.fromisoformat(iso).timestamp()
