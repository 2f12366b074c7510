"""Options `--dry-run` and `--list` of `delaylab run`: a study's trials, and all studies."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from delaylab.papers import studies
from delaylab.spec.combine import StudyFile
from delaylab.spec.load import load_study
from delaylab.study import estimate, order

MINUTE_S = 60


@dataclass(frozen=True)
class ExpectedTrial:
    """A trial of a study, with its packets and the seconds that it is expected to take."""

    id: str
    packets: int
    expected_s: float


@dataclass(frozen=True)
class Expected:
    """The trials of a study, and the seconds from the last of them to the report."""

    trials: list[ExpectedTrial]
    finish_s: float

    @property
    def total_s(self) -> float:
        """Return the seconds that the study is expected to take."""
        return sum(trial.expected_s for trial in self.trials) + self.finish_s


@dataclass(frozen=True)
class ShippedStudy:
    """A study that `delaylab run` knows by name."""

    name: str
    title: str


def dry_run(loaded: StudyFile, scale: str, only: dict[str, set[str]]) -> Expected:
    """Return the trials with their number of packets and the time that each is expected to take."""
    planned = order.plan_trials(loaded, scale, only)
    trials = [
        ExpectedTrial(trial.id, trial.combination.probe.count, round(expected, 1))
        for trial, expected in zip(planned, estimate.trials_s(planned), strict=True)
    ]
    return Expected(trials, estimate.finish_s(planned))


def print_expected(expected: Expected, console: Console) -> None:
    """Print the trials in the order in which they run, and the time of all."""
    table = Table(box=None, pad_edge=False)
    table.add_column("TIME", justify="right", no_wrap=True)
    table.add_column("PACKETS", justify="right", no_wrap=True)
    table.add_column("TRIAL", overflow="fold")
    for trial in expected.trials:
        table.add_row(f"{trial.expected_s:.1f} s", str(trial.packets), trial.id)
    console.print(table)
    packets = sum(trial.packets for trial in expected.trials)
    console.print(
        f"{len(expected.trials)} trials, {packets} packets: about {_duration(expected.total_s)}, "
        f"the report included",
        soft_wrap=True,
    )


def _duration(seconds: float) -> str:
    if seconds < 2 * MINUTE_S:
        return f"{seconds:.0f} s"
    return f"{seconds / MINUTE_S:.0f} min"


def listed() -> list[ShippedStudy]:
    """Return the studies of installed papers, by name."""
    found = ((name, load_study(studies.find(name)).spec) for name in studies.names())
    return [ShippedStudy(name, spec.title) for name, spec in found]


def print_list(known: list[ShippedStudy], console: Console) -> None:
    """Print the studies, each with its title."""
    table = Table(box=None, pad_edge=False)
    table.add_column("STUDY", no_wrap=True)
    table.add_column("TITLE", overflow="fold")
    for study in known:
        table.add_row(study.name, study.title)
    console.print(table)
    console.print(
        "delaylab run STUDY runs one; delaylab run STUDY --dry-run says how long it takes"
    )
