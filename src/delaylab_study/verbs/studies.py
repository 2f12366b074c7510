"""Verb `delaylab run`: run a study with progress, from its file to its report."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from delaylab.api.errors import BadInput
from delaylab.api.files import JsonObject
from delaylab_study.dataset import store
from delaylab_study.dataset.records.study import Origin, StudyRecord
from delaylab_study.study import estimate, order, runner, ways
from delaylab_study.study.job import TrialOutcome
from delaylab_study.study_file.combine import StudyFile
from delaylab_study.verbs.campaigns import Where, check_movable, executor_on
from delaylab_study.verbs.run_progress import RunProgress

if TYPE_CHECKING:
    from delaylab_study.papers.paper import Paper


@dataclass(frozen=True, slots=True)
class PlannedStudy:
    """A study that is about to run: its trials at a scale, in running order.

    `repeat` is the number of trials of each combination if it is not that of the study file. `like`
    is the dataset whose study this one repeats, if it repeats one.
    """

    study: StudyFile
    scale: str
    planned: list[order.Planned]
    repeat: int | None = None
    like: Origin | None = None


def planned_study(
    loaded: StudyFile, scale: str, only: dict[str, set[str]], repeat: int | None = None
) -> PlannedStudy:
    """Return a study with its trials; raise BadInput if its packets would have no path."""
    planned = order.plan_trials(loaded, scale, only, repeat)
    ways.check_ways(loaded, planned)
    return PlannedStudy(loaded, scale, planned, repeat)


def planned_study_like(folder: Path) -> PlannedStudy:
    """Return the study of a dataset with its trials, to be run again on this machine."""
    record = store.read_study(folder).record
    loaded = _study_of(folder, record)
    planned = order.planned_like(loaded, record)
    ways.check_ways(loaded, planned)
    origin = Origin(study=record.study, created=record.created, hostname=record.machine.hostname)
    return PlannedStudy(loaded, record.scale, planned, record.repeat, origin)


def begin(chosen: PlannedStudy, out: Path | None, where: Where = None) -> Path:
    """Create a new dataset's directory, with `study.json` in it; return its path.

    If `out` is a dataset of the same trials, it is left as it is: the run goes on with it. Raise
    BadInput if it is another dataset, or if the machines that are to run it cannot carry its labs.
    """
    check_movable(where, chosen.planned)
    if out is not None and (out / "study.json").exists():
        _check_same(chosen, out)
        return out
    return order.begin(
        chosen.study,
        chosen.scale,
        chosen.planned,
        out,
        repeat=chosen.repeat,
        like=chosen.like,
    )


def _check_same(chosen: PlannedStudy, folder: Path) -> None:
    """Raise BadInput if a dataset has other trials than a study that is about to run."""
    there = {each.id: each.identity for each in planned_in(folder)}
    here = {each.id: each.identity for each in chosen.planned}
    for name in (*here, *there):
        if here.get(name) != there.get(name):
            only = name not in there or name not in here
            what = "only one of the two has it" if only else "it is another trial there"
            fix = "give a new directory, or the same study, scale, levels and --repeat"
            raise BadInput(f"a dataset of other trials: {name}: {what}", str(folder), fix)


def extend(folder: Path, repeat: int) -> None:
    """Add repeats to a dataset: the next `run` of it measures them."""
    order.extend(folder, _study_of(folder, store.read_study(folder).record), repeat)


def planned_in(folder: Path) -> list[order.Planned]:
    """Return the trials that a dataset has or will have, in running order."""
    record = store.read_study(folder).record
    return order.planned_like(_study_of(folder, record), record)


def _study_of(folder: Path, record: StudyRecord) -> StudyFile:
    return order.study_in(record, str(folder / "study.json"))


def run(
    folder: Path, console: Console, *, pcap: bool = False, where: Where = None
) -> list[TrialOutcome]:
    """Run the trials of a study that are not on disk yet, here or on other machines."""
    planned = planned_in(folder)
    check_movable(where, planned)
    seconds = estimate.trials_s(planned)
    expected = {trial.id: s for trial, s in zip(planned, seconds, strict=True)}
    with (
        RunProgress(console, expected, store.finished(folder)) as shown,
        executor_on(where, folder, shown.building, shown.say) as executor,
    ):
        return runner.run(folder, planned, executor, shown.ended, shown.started, pcap=pcap)


def finish(
    folder: Path, console: Console, paper: Paper | None = None, *, numbers: bool = False
) -> tuple[Path, JsonObject]:
    """Print the study's tables and write its report.

    Return the report's path, and with `numbers` what scripts read of the study. `paper` is the
    paper to report instead of the one that the study names.
    """
    # A study should not wait for these.
    from delaylab_study.analysis.claims.doubted import kinds_by_trial  # noqa: PLC0415
    from delaylab_study.verbs import datasets  # noqa: PLC0415

    found = datasets.analysis_of(store.read_study(folder))
    store.write_trials_table(folder, kinds_by_trial(found.groups))
    datasets.show(console, found, paper)
    report = datasets.report(found, paper)
    return report, datasets.numbers(found, paper) if numbers else {}
