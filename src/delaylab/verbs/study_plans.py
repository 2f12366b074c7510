"""Options `--dry-run` and `--list` of `delaylab run`: a study before it runs, and all studies."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from delaylab.io.values import JsonObject
from delaylab.papers import studies
from delaylab.progress import Progress
from delaylab.spec.combine import StudyFile
from delaylab.spec.load import load_study
from delaylab.study import estimate, fits, order
from delaylab.verbs.studies import PlannedStudy

if TYPE_CHECKING:
    from delaylab.papers.paper import Paper
    from delaylab.verbs.foreseen import Foreseen

MINUTE_S = 60
PUBLISHED = (
    "Expected verdicts if everything is as in the paper: trials are simulated from its numbers, "
    "with this study's packets, repeats and CPUs. Real trials differ by more than chance, and "
    "loads are checked only while they run."
)
EMULATED = (
    "with virtual machines emulated in software (TCG): what they add is an emulator's delay, not "
    "that of a machine on hardware"
)
UNKNOWN = (
    "Not foreseen: no numbers are published. The interval shows the width only, for round trips "
    "with a median of 100 µs and a p99 of 150 µs."
)


@dataclass(frozen=True)
class ExpectedTrial:
    """A trial of a study, with its packets and the seconds that it is expected to take.

    It has 0 packets if there is no probe.

    `unfit` is the reason why this machine cannot run it, None if it can. `emulated` is True if its
    virtual machines will be emulated in software.
    """

    id: str
    packets: int
    expected_s: float
    unfit: str | None = None
    emulated: bool = False


@dataclass(frozen=True)
class Expected:
    """The trials of a study, the seconds from the last of them to the report, and its claims."""

    trials: list[ExpectedTrial]
    finish_s: float
    claims: list[Foreseen]

    @property
    def total_s(self) -> float:
        """Return the seconds that the study is expected to take."""
        return sum(trial.expected_s for trial in self.trials if not trial.unfit) + self.finish_s


@dataclass(frozen=True)
class ShippedStudy:
    """A study that `delaylab run` knows by name."""

    name: str
    title: str


def dry_run(chosen: PlannedStudy, paper: Paper | None, progress: Progress) -> Expected:
    """Return the trials, the time that each is expected to take, and what the claims can expect."""
    loaded, planned = chosen.study, chosen.planned
    unfit = fits.unfit(planned)
    emulated = fits.emulated(planned)
    trials = [
        ExpectedTrial(
            trial.id,
            estimate.packets(trial),
            round(expected, 1),
            unfit.get(trial.id),
            trial.id in emulated,
        )
        for trial, expected in zip(planned, estimate.trials_s(planned), strict=True)
    ]
    claims = _claims(loaded, planned, unfit, paper, progress)
    run = [trial for trial in planned if trial.id not in unfit]
    return Expected(trials, estimate.finish_s(run), claims)


def _claims(
    loaded: StudyFile,
    planned: list[order.Planned],
    unfit: dict[str, str],
    paper: Paper | None,
    progress: Progress,
) -> list[Foreseen]:
    if not loaded.spec.claims:
        return []
    from delaylab.verbs.foreseen import foreseen  # noqa: PLC0415  the analysis is slow to import

    return foreseen(loaded, planned, unfit, paper, progress)


def as_json(expected: Expected) -> JsonObject:
    """Return what is expected, for scripts."""
    return {
        "trials": [asdict(trial) for trial in expected.trials],
        "expected_s": round(expected.total_s, 1),
        "claims": [{**asdict(claim), "decides": claim.decides} for claim in expected.claims],
    }


def print_expected(expected: Expected, console: Console) -> None:
    """Print the trials in the order in which they run, the time of all, and the claims."""
    table = Table(box=None, pad_edge=False)
    table.add_column("TIME", justify="right", no_wrap=True)
    probed = any(trial.packets for trial in expected.trials)
    if probed:
        table.add_column("PACKETS", justify="right", no_wrap=True)
    table.add_column("TRIAL", overflow="fold")
    for trial in expected.trials:
        time = f"{trial.expected_s:.1f} s" if trial.unfit is None else "–"
        table.add_row(time, *([str(trial.packets)] if probed else []), trial.id)
    console.print(table)
    print_summary(expected, console)


def print_summary(expected: Expected, console: Console) -> None:
    """Print the time of all trials, the reasons why some cannot run here, and the claims."""
    running = [trial for trial in expected.trials if trial.unfit is None]
    packets = sum(trial.packets for trial in running)
    what = f"{_trials(len(running))}, {packets} packets" if packets else _trials(len(running))
    console.print(
        f"{what}: about {_duration(expected.total_s)}, the report included", soft_wrap=True
    )
    reasons = Counter(trial.unfit for trial in expected.trials if trial.unfit)
    for reason, count in reasons.items():
        console.print(f"{_trials(count)} cannot run here: {reason}", style="yellow", soft_wrap=True)
    emulated = sum(trial.emulated for trial in running)
    if emulated:
        console.print(f"{_trials(emulated)} {EMULATED}", style="yellow", soft_wrap=True)
    if expected.claims:
        _print_claims(expected.claims, console)


def _print_claims(claims: list[Foreseen], console: Console) -> None:
    from delaylab.charts import words  # noqa: PLC0415  as above

    table = Table(box=None, pad_edge=False)
    for title in ("CLAIM", "EXPECTED VERDICT", "EXPECTED EFFECT [95 %], OR WHY"):
        table.add_column(title, overflow="fold")
    for claim in claims:
        told = claim.why
        if claim.effect is not None and claim.interval is not None:
            told = words.with_interval(claim.effect, claim.interval, claim.unit)
        table.add_row(claim.claim, claim.verdict or "not foreseen", told)
    console.print()
    console.print(table)
    if any(claim.effect is not None and claim.verdict for claim in claims):
        console.print(PUBLISHED)
    if any(claim.effect is not None and claim.verdict is None for claim in claims):
        console.print(UNKNOWN)


def _trials(count: int) -> str:
    return "1 trial" if count == 1 else f"{count} trials"


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
