"""Imagined trials as analysed groups: delays that are given, and no packets behind them.

Controls judge claims on them, and a dry run says by them what a study would decide.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np
import polars as pl
from numpy.typing import NDArray

from delaylab.api.records import DoubtKind, EngineReport, doubt
from delaylab.api.verdicts import judge_links
from delaylab_study.analysis.convergence.recorded import SeenTrial
from delaylab_study.analysis.doubts.machine_state import MachineState
from delaylab_study.analysis.group import (
    REST,
    Group,
    GroupLinks,
    GroupMachine,
    GroupPackets,
    GroupWork,
)
from delaylab_study.analysis.links.delays import LinkError, MeasuredDelays
from delaylab_study.analysis.links.fidelity import TrialLink
from delaylab_study.analysis.over_time.clean import IS_CLEAN, CleanSamples
from delaylab_study.analysis.over_time.usage import IN_USE
from delaylab_study.analysis.packets.accounting import Account, ByLeg, PhaseAccount
from delaylab_study.analysis.packets.instrument import AtRest
from delaylab_study.analysis.packets.rtt import DELTAS, ONE_WAY, VANTAGE, WITHOUT_LINKS
from delaylab_study.analysis.packets.table import MEASURED, TRIAL
from delaylab_study.analysis.statistics.quantiles import Floats
from delaylab_study.analysis.work import summarised
from delaylab_study.dataset.records.events import EventRecord
from delaylab_study.dataset.records.rates import Search
from delaylab_study.dataset.records.trial import Endpoint, Load, PhaseTime, TrialRecord
from delaylab_study.dataset.records.ways import Way
from delaylab_study.dataset.records.work import DomainTime, Figure, WorkDone

KEPT = 20_000
"""The most packets of a group of imagined trials. Trials that ran count with all of theirs."""
CPUS = 8
Levels = Mapping[str, str]
Random = np.random.Generator
ACTED: Mapping[str, Mapping[str, float]] = {
    "cpu": {"cpu_percent_per_worker": 99.0},
    "io": {"operations_per_s": 1000.0},
    "memory": {"operations_per_s": 1000.0},
    "disk": {"operations_per_s": 1000.0, "written_bytes_per_s": 5e7},
    "network": {"sent_bps": 9.9e7, "received_bps": 9.9e7, "uplink_bps": 1e8},
    "command": {"ran_share": 1.0},
    "frames": {"sent_per_s": 1000.0},
    "requests": {"sent_per_s": 100.0, "asked_per_s": 100.0, "answered_share": 1.0},
}
"""The work of each load where it acted."""
RESPONDER = Endpoint(node="echo", host="target", kind="native")
WAY = Way(request=["sender.app"], reply=["sender.app"])
"""The responder and the way of all imagined trials."""
EMULATED = doubt(DoubtKind.EMULATED, "virtual machines are emulated", "")
USUAL_US = 100.0
"""The median user RTT, in µs, of imagined trials for which no numbers are known."""


@dataclass(frozen=True)
class Design:
    """The trials of one combination of levels, before they run.

    `kind` is the sender's kind, `load` the name of its load, or `rest`. `packets` are those of one
    trial under load, `trials` the number of trials, which are repeats from `first_repeat` on.
    `cpus` are the CPUs of the machine. With `emulated`, virtual machines are emulated in software.
    `equations` are those that a trial's hpcc solves. `rtt_us` is the median user RTT that is taken
    where no numbers are known, and `way_us` what the links' delays add to each.
    """

    levels: Levels
    kind: str = "netns"
    load: str = "rest"
    packets: int = 0
    trials: int = 1
    first_repeat: int = 1
    cpus: int | None = CPUS
    emulated: bool = False
    equations: int | None = None
    rtt_us: float = USUAL_US
    way_us: float = 0.0


def design_of(group: Group) -> Design:
    """Return the design of trials that ran."""
    trials = group.trials
    loads = {load.load for trial in trials for load in trial.loads}
    return Design(
        levels=group.factors,
        kind=group.kind if group.packets else _kind_at_work(trials[0]),
        load="+".join(sorted(loads)) or REST,
        packets=min(group.sent // len(trials), max(1, KEPT // len(trials))),
        trials=len(trials),
        first_repeat=trials[0].repeat,
        cpus=group.machine.state.cpus,
        emulated=any(
            warning.kind == DoubtKind.EMULATED for trial in trials for warning in trial.warnings
        ),
        equations=_equations(trials[0]),
    )


def _kind_at_work(trial: TrialRecord) -> str:
    kinds = (work.kind for work in trial.work)
    return next((kind for kind in kinds if kind), "unknown")


def _equations(trial: TrialRecord) -> int | None:
    """Return how many equations a trial's hpcc solved; None if there was none."""
    figures = (figure for work in trial.work for figure in work.figures)
    return next((round(each.value) for each in figures if each.unit == "equations"), None)


def lognormal(random: Random, n: int, median: float, p99: float | None = None) -> Floats:
    """Return values with this median and p99; without a p99, it is 1.5 times the median."""
    sigma = np.log((p99 or 1.5 * median) / median) / 2.326348
    return np.asarray(median * np.exp(sigma * random.normal(size=n)))


def group(  # noqa: PLR0913  each is a part of what an imagined group has
    design: Design,
    delays: Mapping[str, Floats],
    *,
    loads: Sequence[Load] | None = None,
    link_errors: Sequence[LinkError] = (),
    sent: int | None = None,
    trials: Sequence[TrialRecord] = (),
    in_use: NDArray[np.bool_] | None = None,
    clean: NDArray[np.bool_] | None = None,
    convergence: Sequence[SeenTrial] = (),
) -> Group:
    """Return the trials of a design as a group, or those given; their loads acted.

    `delays` are in µs, by the name of a vantage point or of a one-way delay, of all trials one
    after the other. The RTTs have no summaries, which take long to make. `link_errors` has the
    error of the delays over each trial's link. `in_use` says for each packet if the machine was in
    use when it was sent; if it is not given, the machine was in use under a load. `clean` says
    which packets were clean, if they were judged; none was sent again. Links and work are those of
    the trials' records, `convergence` are the trials' events.
    """
    acted = acting(design.load) if loads is None else loads
    samples = table(delays, len(trials) or design.trials)
    used = _all(len(samples), bool(acted), pl.Boolean) if in_use is None else pl.Series(in_use)
    trials = list(trials) or _records(design, acted)
    fates = _fates(len(samples), len(samples) if sent is None else sent)
    marks = [] if clean is None else [pl.Series(IS_CLEAN, clean), _phases(len(samples))]
    packets = GroupPackets(
        samples=samples.hstack([used.alias(IN_USE)]),
        judged=CleanSamples(samples.hstack(marks)) if marks else None,
        phases=[fates],
        account=Account(fates.scheduled, {}, [], {}, {}, 0),
        at_rest=AtRest(0, 0, [], in_turn=True),
    )
    links = _links(trials, link_errors, design.packets)
    return Group(
        trials=trials,
        doubts=[],
        machine=GroupMachine(MachineState([], 0, 0, {}, design.cpus)),
        packets=packets if trials[0].probed else None,
        work=GroupWork(work) if (work := summarised(trials, [])) else None,
        links=GroupLinks(links) if links else None,
        convergence=list(convergence),
    )


def _links(trials: Sequence[TrialRecord], errors: Sequence[LinkError], n: int) -> list[TrialLink]:
    """Return the links that the trials' engines report; n packets of each trial have its error."""
    measured = [MeasuredDelays(max(1, n), 0.0, 0.0, error) for error in errors]
    return [
        TrialLink(trial.id, verdict, seen)
        for trial, seen in zip_longest(trials, measured)
        for verdict in judge_links(trial.links)
    ]


def usual(design: Design, random: Random) -> Group:
    """Return trials of a design for which no numbers are known: a load changes nothing.

    The user RTT has the design's median and a p99 of 1.5 times that, and to it come the delays of
    the links. The RTT at each further vantage point is a fixed share of it, and sending takes as
    long as receiving.
    """
    user = lognormal(random, design.packets * design.trials, design.rtt_us)
    inner = {
        name: user * (len(VANTAGE) - depth) / len(VANTAGE) + design.way_us
        for depth, name in enumerate(VANTAGE)
    }
    added = inner["app"] - inner["wire"]
    sides = dict.fromkeys(ONE_WAY, added / 2)
    return group(design, {**inner, **sides, WITHOUT_LINKS: user})


def _fates(answered: int, sent: int) -> PhaseAccount:
    """Return the account of the packets under load: those without an answer were lost."""
    none = ByLeg()
    lost = ByLeg(request=sent - answered)
    return PhaseAccount(
        phase=MEASURED,
        scheduled=sent,
        answered=answered,
        late=0,
        lost=lost,
        refused=0,
        unsent=0,
        duplicated=none,
        reordered=none,
    )


def _records(design: Design, loads: Sequence[Load]) -> list[TrialRecord]:
    """Return the records of a design's trials, which differ in their repeat alone."""
    first = record(design, loads, repeat=design.first_repeat)
    name = _name(design)
    # Copies are not checked again: a dry run of a paper imagines tens of thousands of trials.
    return [first] + [
        first.model_copy(update={"id": _id(name, repeat), "repeat": repeat})
        for repeat in range(design.first_repeat + 1, design.first_repeat + design.trials)
    ]


def _name(design: Design) -> str:
    return ",".join(f"{factor}={level}" for factor, level in design.levels.items()) or "trial"


def _id(name: str, repeat: int) -> str:
    return f"{name},repeat={repeat}"


def record(
    design: Design,
    loads: Sequence[Load] = (),
    reports: Sequence[EngineReport] = (),
    repeat: int = 1,
    search: Search | None = None,
    work: Sequence[WorkDone] = (),
    domains: Sequence[DomainTime] = (),
) -> TrialRecord:
    """Return the record of a finished trial of a design."""
    return TrialRecord(
        id=_id(_name(design), repeat),
        index=0,
        factors=dict(design.levels),
        repeat=repeat,
        status="ok",
        sender=Endpoint(node="probe", host="sut", kind=design.kind),
        responder=RESPONDER,
        ways=[WAY],
        loads=list(loads),
        links=list(reports),
        rate_search=search,
        work=list(work),
        domains=list(domains),
        warnings=[EMULATED] if design.emulated else [],
    )


def record_of_events(design: Design, events: Sequence[EventRecord], repeat: int = 1) -> TrialRecord:
    """Return the record of a finished trial of a design without a probe, with these events."""
    end_ns = max((each.until_ns for each in events), default=1)
    return TrialRecord(
        id=_id(_name(design), repeat),
        index=0,
        factors=dict(design.levels),
        repeat=repeat,
        status="ok",
        events=list(events),
        phases=[PhaseTime(phase="load", start_ns=0, end_ns=end_ns)],
    )


def command(work: str, node: str, figures: Mapping[str, tuple[float, str]]) -> WorkDone:
    """Return what a command of a study's work got done: figures by name, each with its unit.

    It took five seconds, which no claim on its figures looks at.
    """
    return WorkDone(
        work=work,
        node=node,
        unit="runs/s",
        rate=0.2,
        wall_ns=5 * 10**9,
        user_ns=10**9,
        system_ns=10**9,
        figures=[
            Figure(name=name, value=value, unit=unit) for name, (value, unit) in figures.items()
        ],
    )


def group_of_work(design: Design, draw: Callable[[], WorkDone]) -> Group:
    """Return trials of a design that have no probe: `draw` draws the work of each."""
    repeats = range(design.first_repeat, design.first_repeat + design.trials)
    trials = [record(design, repeat=repeat, work=[draw()]) for repeat in repeats]
    return group(design, {}, trials=trials, loads=[])


def acting(load: str) -> list[Load]:
    """Return loads, joined by `+`, that did what they stand for; none at rest."""
    if load in ("rest", "none"):
        return []
    return [
        Load(load=name, on="noisy", achieved=dict(ACTED.get(name, {}))) for name in load.split("+")
    ]


def table(delays: Mapping[str, Floats], runs: int = 1) -> pl.DataFrame:
    """Return the samples of a group in ns: the delays given, and the differences between them.

    They belong to `runs` trials, one after the other.
    """
    n = max((len(values) for values in delays.values()), default=0)
    known = {name: np.asarray(values * 1000, dtype=np.int64) for name, values in delays.items()}
    for name, (outer, inner) in DELTAS.items():
        if outer in known and inner in known:
            known[name] = known[outer] - known[inner]
    unknown = _all(n, None, pl.Int64)
    columns = [
        pl.Series(name, known[name]) if name in known else unknown.alias(name)
        for name in (*VANTAGE, *ONE_WAY, *DELTAS, WITHOUT_LINKS)
    ]
    trials = pl.Series(TRIAL, np.arange(n) * runs // max(n, 1), dtype=pl.Int32)
    return pl.DataFrame([*columns, trials])


def _phases(n: int) -> pl.Series:
    return pl.Series("phase", [MEASURED]).new_from_index(0, n)


def _all(n: int, value: bool | None, of: type[pl.DataType]) -> pl.Series:
    """Return n times the same value."""
    return pl.Series([value], dtype=of).new_from_index(0, n)
