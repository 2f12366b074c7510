"""Verdicts that a study can be expected to reach, before it runs.

Each claim is judged on imagined trials of the study's own design, drawn from the numbers that its
paper published: so many packets in so many trials, on this machine's CPUs, without the labs that it
cannot start. What they do not show as reproduced, the study cannot test (`papers/expected.py`).
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from delaylab.api.doctor import RoundTrip, round_trip_of_kind
from delaylab.api.lab import round_trip_ns
from delaylab.api.progress import Progress
from delaylab_study.analysis.claims.claim import Claim
from delaylab_study.analysis.claims.finding import Finding, Verdict
from delaylab_study.analysis.claims.imagined import KEPT, Design, usual
from delaylab_study.analysis.claims.judge import judge
from delaylab_study.analysis.claims.own import claim_of
from delaylab_study.analysis.group import Group
from delaylab_study.analysis.statistics.quantiles import Interval
from delaylab_study.papers.evidence import not_installed
from delaylab_study.papers.expected import Imagined, out_of_reach, random_of
from delaylab_study.papers.loading import claims as known_claims
from delaylab_study.papers.paper import Paper
from delaylab_study.study.estimate import packets
from delaylab_study.study.order import Planned
from delaylab_study.study_file.combine import Combination, StudyFile
from delaylab_study.study_file.work import MpiWork

NO_SUCH_CLAIM = "no installed paper has such a claim; --paper FOLDER adds those of another one"

NOT_IMAGINED = "how long routers take after an event is not known before it"


@dataclass(frozen=True)
class Foreseen:
    """The verdict that a claim can be expected to get, were all as in the paper.

    `verdict` is None for a claim without published numbers. The `effect` and `interval` of a claim
    of the study file are then those of the round trips that `assumed` returns.
    """

    claim: str
    verdict: Verdict | None
    why: str
    quantity: str = ""
    unit: str = ""
    effect: float | None = None
    interval: Interval | None = None
    is_difference: bool = True

    @property
    def decides(self) -> bool:
        """Return True if the study can be expected to decide."""
        return self.verdict == "reproduced"


def foreseen(
    study: StudyFile,
    planned: list[Planned],
    unfit: dict[str, str],
    emulated: frozenset[str],
    paper: Paper | None,
    progress: Progress,
) -> list[Foreseen]:
    """Return what the study can be expected to say of each of its claims, in the study's order.

    `unfit` are the trials that this machine cannot run, `emulated` those whose virtual machines
    are emulated. Trials are taken to differ by chance only,
    so real intervals may be wider.
    """
    if not study.spec.claims:
        return []
    designs = list(designs_of_trials(planned, unfit, emulated))
    imagined = Imagined(designs)
    alike: list[Group] = []
    known = known_claims(paper)
    found: list[Foreseen] = []
    for done, spec in enumerate(study.spec.claims):
        name = spec if isinstance(spec, str) else spec.claim
        progress(f"expecting {name}", done / len(study.spec.claims))
        if not isinstance(spec, str) and spec.of_events:
            found.append(Foreseen(spec.claim, None, NOT_IMAGINED))
            continue
        if not isinstance(spec, str):
            alike = alike or [usual(design, random_of(design, 0)) for design in designs]
            found.append(_of_its_own(claim_of(spec), alike))
            continue
        if name not in known:
            # The file of a dataset may name what only the machine that measured it knew.
            why = not_installed(study.spec.source) or NO_SUCH_CLAIM
            found.append(Foreseen(name, "not testable here", why))
            continue
        of, claim = known[name]
        expected = imagined.expected(of, claim)
        if expected is None:
            found.append(Foreseen(claim.id, None, f"{of.name} brings no numbers to expect"))
        else:
            found.append(_of_a_paper(expected))
    return found


def assumed(planned: list[Planned]) -> list[RoundTrip]:
    """Return the round trips at rest by which claims of a study file are foreseen, by kind."""
    kinds = dict.fromkeys(_kind(trial.combination) for trial in planned)
    return [round_trip_of_kind(kind) for kind in kinds]


def _of_its_own(claim: Claim, groups: list[Group]) -> Foreseen:
    """Return what a claim of the study file can expect: the width of its interval, no verdict."""
    told = judge(claim, groups)
    testable = told.verdict != "not testable here"
    return _told(told, None if testable else told.verdict)


def _of_a_paper(finding: Finding) -> Foreseen:
    """Return what a paper's claim can expect; the reason, if the study cannot test it."""
    reason = out_of_reach(finding)
    if not reason:
        return _told(finding, finding.verdict)
    return Foreseen(claim=finding.id, verdict="not testable here", why=reason)


def _told(finding: Finding, verdict: Verdict | None) -> Foreseen:
    return Foreseen(
        claim=finding.id,
        verdict=verdict,
        why=finding.why,
        quantity=finding.of,
        unit=finding.unit,
        effect=finding.effect,
        interval=finding.interval,
        is_difference=finding.is_difference,
    )


def designs_of_trials(
    planned: list[Planned], unfit: Collection[str], emulated: Collection[str]
) -> Iterator[Design]:
    """Yield the design of each combination of levels, without trials that cannot run.

    `emulated` are the trials whose virtual machines are emulated.
    """
    together: dict[tuple[str, ...], list[Planned]] = {}
    for trial in planned:
        if trial.id not in unfit:
            levels = tuple(trial.combination.levels.values())
            together.setdefault(levels, []).append(trial)
    for trials in together.values():
        combination, loads = trials[0].combination, trials[0].combination.loads
        yield Design(
            levels=combination.levels,
            kind=_kind(combination),
            load="+".join(sorted({load.what for load in loads})) or "rest",
            rtt_us=round_trip_of_kind(_kind(combination)).rtt_us,
            way_us=_way_us(combination),
            # More would take long to imagine. Intervals of longer trials are a little narrower.
            packets=min(packets(trials[0]), max(1, KEPT // len(trials))),
            trials=len(trials),
            cpus=os.cpu_count(),
            emulated=any(trial.id in emulated for trial in trials),
            equations=_equations(combination),
        )


def _equations(combination: Combination) -> int | None:
    """Return how many equations the first work of hpcc solves; None if there is none."""
    programs = (work for work in combination.work if isinstance(work, MpiWork) and work.on)
    active = (work.equations for work in programs)
    return next((each for each in active if each is not None), None)


def _kind(combination: Combination) -> str:
    """Return the kind that stands for the trial's."""
    return combination.lab.nodes[_shown(combination)].kind


def _way_us(combination: Combination) -> float:
    """Return the round trip that the links between the probe's ends are configured for."""
    probe = combination.probe
    if probe is None or probe.outside:
        return 0.0
    return round_trip_ns(combination.lab, probe.sender, probe.to) / 1e3


def _shown(combination: Combination) -> str:
    """Return the node whose kind stands for the trial's: the sender, or else the first at work.

    Of a trial that has events alone it is the lab's first node.
    """
    if combination.probe is not None:
        return combination.probe.sender
    at_work = (node for each in combination.work for node in each.on)
    return next(at_work, next(iter(combination.lab.nodes)))
