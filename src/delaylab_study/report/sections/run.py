"""Record of what was run: versions, factors, and the trials with their loads and taps."""

from __future__ import annotations

from collections.abc import Iterator

from delaylab_study.charts import words
from delaylab_study.dataset.records.trial import Load, TrialRecord
from delaylab_study.report import value as v
from delaylab_study.report.provenance import whole
from delaylab_study.report.sections.section import Report

GIB = 1 << 30


def section(report: Report) -> v.Section:
    """Return the study's trials."""
    on: v.Forms = v.PAGE if report.probed else ()
    columns = (
        v.Column("trial", "label"),
        v.Column("probe", "text", on),
        v.Column("loads: configured, achieved", "text", key="loads"),
        v.Column("taps: packets, dropped", "text", on, key="taps"),
        v.Column("started", "text", key="started"),
    )
    rows = [_row(trial) for trial in report.study.trials]
    summary = "Trials, loads and taps" if report.probed else "Trials and loads"
    parts = [
        v.Heading("What was run", 2),
        v.Terms([*_terms(report)]),
        v.unfolded(summary, [v.Table(columns, rows, key="run")]),
    ]
    return v.Section("run", parts)


def _terms(report: Report) -> Iterator[tuple[str, str]]:
    record = report.study.record
    for label, machine in record.labelled.items():
        memory = f"{machine.memory_bytes / GIB:.1f} GiB"
        yield "machine", f"{label}, {machine.cpu}, {machine.cores} cores, {memory}"
        yield "system", f"{words.system(machine.kernel)}, clock {machine.clock}"
        yield from whole(machine, report.study.trials).items()
    yield "seed", str(record.seed)
    for name, levels in record.factors.items():
        yield name, ", ".join(levels)


def _row(trial: TrialRecord) -> v.Row:
    loads = "; ".join(map(_load, trial.loads))
    started = (trial.started or "")[:19].replace("T", " ")
    taps = "; ".join(f"{tap.point} {tap.packets}, {tap.dropped}" for tap in trial.taps)
    name = v.Value("trial", trial.id), " (", v.Value("status", trial.status), ")"
    return [name, _probe(trial), loads, taps, started]


def _probe(trial: TrialRecord) -> v.Words:
    interval = v.Value("interval_ns", trial.interval_ns, "ns")
    if not trial.sender or not trial.responder:
        return v.unseen(interval)
    every = (", every ", interval) if trial.interval_ns else v.unseen(interval)
    return (
        *(v.Value("sender", trial.sender.node), " → ", v.Value("responder", trial.responder.node)),
        *(", ", v.Value("protocol", trial.protocol)),
        *(", ", v.Value("size_bytes", trial.size_bytes), " bytes", *every),
    )


def _load(load: Load) -> str:
    to = f" to {load.to}" if load.to else ""
    achieved = "".join(f", {name} {value:.4g}" for name, value in load.achieved.items())
    return f"{load.load} on {load.on}{to}: {load.configured}{achieved}"
