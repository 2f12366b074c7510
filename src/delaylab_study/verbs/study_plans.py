"""Options `--dry-run` and `--list` of `delaylab run`: a study before it runs, and all studies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from delaylab.api.files import JsonObject
from delaylab.api.progress import Progress
from delaylab_study.analysis.statistics.needs import Needs, needs
from delaylab_study.papers import studies
from delaylab_study.study import estimate, fits, order
from delaylab_study.study_file.combine import StudyFile
from delaylab_study.study_file.load import load_study
from delaylab_study.verbs.studies import PlannedStudy

if TYPE_CHECKING:
    from delaylab.api.doctor import RoundTrip
    from delaylab_study.papers.paper import Paper
    from delaylab_study.verbs.foreseen import Foreseen

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
    "Not foreseen: no numbers are published. The interval shows the width only, of round trips at "
    "rest whatever the load, with the delays of the links. Medians by kind of the sender, with a "
    "p99 of 1.5 times each: "
)
TAILS = {"p90": 0.9, "p99": 0.99}
INDEPENDENT = (
    "This takes packets to be independent. Those that share a queue are not: then more are needed."
)
BY_DOCTOR = "run delaylab doctor to have them measured here"


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
class ExpectedTail:
    """The packets that an upper quantile needs, and those planned for a combination of levels.

    `combinations` is the number of combinations that have so many. All packets are taken to be
    independent. Those that share a queue are not, and more of them are needed.
    """

    quantile: str
    needs: Needs
    planned: int
    combinations: int

    @property
    def enough(self) -> bool:
        """Return True if so many packets carry the quantile, provided they are independent."""
        return self.planned >= self.needs.packets


@dataclass(frozen=True)
class StudyForecast:
    """The trials of a study, the seconds from the last of them to the report, and its claims.

    `round_trips` are those by which its own claims are foreseen; none without such a claim. `tails`
    are empty without a probe.
    """

    trials: list[ExpectedTrial]
    finish_s: float
    claims: list[Foreseen]
    round_trips: list[RoundTrip]
    tails: list[ExpectedTail]

    @property
    def total_s(self) -> float:
        """Return the seconds that the study is expected to take."""
        return sum(trial.expected_s for trial in self.trials if not trial.unfit) + self.finish_s


@dataclass(frozen=True)
class ShippedStudy:
    """A study that `delaylab run` knows by name, as it runs at the scale `quick`.

    `expected_s` is how long the trials that can run here take together, `trials` the number of all,
    `unfit` the number of those that cannot. `needs` are the kinds of nodes that the study has.
    """

    name: str
    title: str
    expected_s: float
    trials: int
    unfit: int
    needs: list[str]


def dry_run(chosen: PlannedStudy, paper: Paper | None, progress: Progress) -> StudyForecast:
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
    run = [trial for trial in planned if trial.id not in unfit]
    finish_s = estimate.finish_s(run)
    tails = _tails(run)
    if not loaded.spec.claims:
        return StudyForecast(trials, finish_s, [], [], tails)
    from delaylab_study.verbs import foreseen  # noqa: PLC0415  the analysis is slow to import

    claims = foreseen.foreseen(loaded, planned, unfit, emulated, paper, progress)
    own = any(not isinstance(claim, str) for claim in loaded.spec.claims)
    return StudyForecast(trials, finish_s, claims, foreseen.assumed(run) if own else [], tails)


def _tails(run: list[order.Planned]) -> list[ExpectedTail]:
    """Return what p90 and p99 need, for each number of packets that combinations have."""
    packets: Counter[tuple[str, ...]] = Counter()
    every_s: dict[tuple[str, ...], float] = {}
    for trial in run:
        levels = tuple(trial.combination.levels.values())
        packets[levels] += estimate.packets(trial)
        every_s[levels] = estimate.every_s(trial)
    alike = Counter((count, every_s[levels]) for levels, count in packets.items() if count)
    return [
        ExpectedTail(name, needs(q, count, count, between_s), count, combinations)
        for name, q in TAILS.items()
        for (count, between_s), combinations in sorted(alike.items())
    ]


def as_json(expected: StudyForecast) -> JsonObject:
    """Return what is expected, for scripts."""
    return {
        "trials": [asdict(trial) for trial in expected.trials],
        "expected_s": round(expected.total_s, 1),
        "claims": [{**asdict(claim), "decides": claim.decides} for claim in expected.claims],
        "tails": [{**asdict(tail), "enough": tail.enough} for tail in expected.tails],
        "round_trips": [
            {**asdict(trip), "day": None if trip.day is None else trip.day.isoformat()}
            for trip in expected.round_trips
        ],
    }


def print_expected(expected: StudyForecast, console: Console) -> None:
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


def print_summary(expected: StudyForecast, console: Console) -> None:
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
    for line in _tails_in_words(expected.tails):
        console.print(line, soft_wrap=True)
    if expected.claims:
        _print_claims(expected.claims, expected.round_trips, console)


def _tails_in_words(tails: list[ExpectedTail]) -> Iterator[str]:
    """Yield what p99 needs, and p90 if too few packets are planned for it."""
    shown = [tail for tail in tails if tail.quantile == "p99" or not tail.enough]
    several = len({(tail.planned, tail.needs) for tail in shown if tail.quantile == "p99"}) > 1
    for tail in shown:
        where = "each combination of levels"
        if several:
            n = tail.combinations
            where = f"each of {n} combinations of levels" if n > 1 else "one combination of levels"
        short = "" if tail.enough else ": too few"
        yield f"{tail.quantile} {tail.needs.words}; {where} has {tail.planned}{short}"
    if shown:
        yield INDEPENDENT


def _print_claims(claims: list[Foreseen], round_trips: list[RoundTrip], console: Console) -> None:
    from delaylab_study.charts import words  # noqa: PLC0415  as above

    table = Table(box=None, pad_edge=False)
    for title in ("CLAIM", "EXPECTED VERDICT", "EXPECTED EFFECT [95 %], OR WHY"):
        table.add_column(title, overflow="fold")
    for claim in claims:
        told = claim.why
        if claim.effect is not None and claim.interval is not None:
            told = words.with_interval(
                claim.effect, claim.interval, claim.unit, is_difference=claim.is_difference
            )
        table.add_row(claim.claim, claim.verdict or "not foreseen", told)
    console.print()
    console.print(table)
    if any(claim.effect is not None and claim.verdict for claim in claims):
        console.print(PUBLISHED)
    if any(claim.effect is not None and claim.verdict is None for claim in claims):
        console.print(f"{UNKNOWN}{_round_trips(round_trips)}")


def _round_trips(known: list[RoundTrip]) -> str:
    """Return round trips for a reader, each with its source."""
    told = [
        f"{each.kind} {each.rtt_us:.0f} µs ("
        + (f"doctor, {each.day}" if each.source == "doctor" else "docs/benchmarks.md")
        + ")"
        for each in known
    ]
    unmeasured = any(each.source == "table" for each in known)
    return f"{', '.join(told)}{f'; {BY_DOCTOR}' if unmeasured else ''}."


def _trials(count: int) -> str:
    return "1 trial" if count == 1 else f"{count} trials"


def _duration(seconds: float) -> str:
    if seconds < 2 * MINUTE_S:
        return f"{seconds:.0f} s"
    return f"{seconds / MINUTE_S:.0f} min"


def listed() -> list[ShippedStudy]:
    """Return the studies of installed papers, by name."""
    return [_shipped(name, load_study(studies.find(name))) for name in studies.names()]


def _shipped(name: str, study: StudyFile) -> ShippedStudy:
    planned = order.plan_trials(study, "quick", {})
    unfit = fits.unfit(planned)
    run = [trial for trial in planned if trial.id not in unfit]
    seconds = sum(estimate.trials_s(run)) + estimate.finish_s(run) if run else 0.0
    nodes = (node for trial in planned for node in trial.combination.lab.nodes.values())
    kinds = sorted({node.kind for node in nodes})
    return ShippedStudy(name, study.spec.title, round(seconds, 1), len(planned), len(unfit), kinds)


def print_list(known: list[ShippedStudy], console: Console) -> None:
    """Print the studies, each with its time, the kinds of nodes that it needs, and its title."""
    table = Table(box=None, pad_edge=False)
    table.add_column("STUDY", no_wrap=True)
    table.add_column("TIME", justify="right", no_wrap=True)
    for title in ("NEEDS", "TITLE"):
        table.add_column(title, overflow="fold")
    for study in known:
        time = "–" if study.unfit == study.trials else _duration(study.expected_s)
        table.add_row(study.name, time, ", ".join(study.needs), study.title)
    console.print(table)
    for study in known:
        if study.unfit:
            console.print(
                f"{study.name}: {study.unfit} of {_trials(study.trials)} cannot run here",
                style="yellow",
                soft_wrap=True,
            )
    console.print(
        "delaylab run STUDY runs one; delaylab run STUDY --dry-run lists its trials, and says what "
        "to expect"
    )
