"""Numbers of a study for scripts: as JSON, and a table as CSV."""

from __future__ import annotations

from pathlib import Path

from delaylab.api.errors import BadInput
from delaylab.api.files import JsonObject
from delaylab.api.progress import Progress, silent
from delaylab_study.analysis.analyse import Analysed, analyse, analysed
from delaylab_study.analysis.group import Group
from delaylab_study.analysis.usable import usable
from delaylab_study.dataset.records.trial import TrialRecord
from delaylab_study.dataset.store import Study
from delaylab_study.papers.findings import Later
from delaylab_study.papers.paper import Paper
from delaylab_study.report.data import Record, csv_of, json_of, records
from delaylab_study.report.latex import latex_of
from delaylab_study.report.sections.registry import STUDY_JSON, TABLES, TRIAL_JSON
from delaylab_study.report.sections.section import Report


def as_json(
    given: Path | Study | Analysed,
    paper: Paper | None = None,
    progress: Progress = silent,
    later: Later = (),
) -> JsonObject:
    """Return the study, its trials and its claims as plain JSON values; delays in µs.

    `rtt` is round trip, a segment's delay is one way. `instrument` is what the taps add to the user
    RTT at rest (round trip), by the sender's kind. A segment between two clocks can be off by its
    `bound_us`; a median smaller than that is null, with its upper limit and the reason.
    `combinations` has the delays of all trials of the same levels together, as the terminal prints
    them. `phases` accounts for every packet of each phase; what was lost, duplicated or reordered
    is given by leg. `work` has each group's work, in which a share of 1 is a node's fair share, and
    times of `messages` are in ns: `round-trip` there and back, `exchange` about one way. `scaling`
    has the run times over the number of nodes, with their law and its prediction. `clocks` tells
    how a trial's clocks were aligned. `slowest` has a trial's slowest packets under load, each with
    the segment that it lost its time in: the one furthest above its median. `outages` are runs of
    packets without a reply, with times in s. What is about packets is empty in a trial without a
    probe. `tables` has the tables of the report by name, as `table_csv` prints them: each row has
    its values by name, with unit, interval and doubts.

    `later` are claims that were chosen after the data. Raise `BadInput` for a damaged dataset.
    """
    found = analysed(given, progress)
    with usable(str(found.study.directory)):
        return _numbers(Report(found.study, found.groups, paper, later))


def table_csv(
    given: Path | Study | Analysed,
    name: str,
    paper: Paper | None = None,
    progress: Progress = silent,
    later: Later = (),
) -> bytes:
    """Return a table of the report as CSV (RFC 4180) in UTF-8, with units in the columns' names.

    `KEY_low` and `KEY_high` are the ends of an interval, `KEY_doubts` says what speaks against a
    value, or why there is none. Raise `BadInput` for a damaged dataset, and if the report has no
    such table.
    """
    return csv_of(_rows(analysed(given, progress), name, paper, later))


def table_latex(
    given: Path | Study | Analysed,
    name: str,
    paper: Paper | None = None,
    progress: Progress = silent,
    later: Later = (),
) -> bytes:
    """Return a table of the report as LaTeX, with units in its head; raise as `table_csv` does."""
    return latex_of(_rows(analysed(given, progress), name, paper, later))


def _rows(found: Analysed, name: str, paper: Paper | None, later: Later) -> list[Record]:
    where = str(found.study.directory)
    with usable(where):
        report = Report(found.study, found.groups, paper, later)
        rows = records([TABLES[name](report)]).get(name)
        if not rows:
            there = ", ".join(_tables(report))
            raise BadInput(f"its report has no table `{name}`", where, f"it has {there}")
        return rows


def _tables(report: Report) -> dict[str, list[Record]]:
    found = records(section(report) for section in dict.fromkeys(TABLES.values()))
    return {name: found[name] for name in TABLES if found.get(name)}


def _numbers(report: Report) -> JsonObject:
    alone = {group.trials[0].id: group for group in report.groups if len(group.trials) == 1}
    head, *others = (section(report) for section in STUDY_JSON)
    return {
        **head,
        "trials": [_trial(report, trial, alone) for trial in report.study.trials],
        **{key: value for part in others for key, value in part.items()},
        "tables": {name: json_of(rows) for name, rows in _tables(report).items()},
    }


def _trial(report: Report, trial: TrialRecord, alone: dict[str, Group]) -> JsonObject:
    group = None
    if trial.status == "ok":
        group = alone.get(trial.id) or analyse(report.study, [trial])
    parts = [section(trial, group) for section in TRIAL_JSON]
    return {
        "id": trial.id,
        "factors": trial.factors,
        "repeat": trial.repeat,
        "status": trial.status,
        "reason": trial.reason,
        **{key: value for part in parts for key, value in part.items()},
    }
