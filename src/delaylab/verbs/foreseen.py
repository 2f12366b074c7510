"""Verdicts that a study can be expected to reach, before it runs.

Each claim is judged on imagined trials of the study's own design, drawn from the numbers that its
paper published: so many packets in so many trials, on this machine's CPUs, without the labs that it
cannot start.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from delaylab.analysis.claims.claim import Claim
from delaylab.analysis.claims.finding import Finding, Verdict
from delaylab.analysis.claims.imagined import Design, usual
from delaylab.analysis.claims.judge import judge
from delaylab.analysis.claims.own import claim_of
from delaylab.analysis.group import Group
from delaylab.analysis.statistics.quantiles import Interval
from delaylab.papers import calls
from delaylab.papers.loading import claims as known_claims
from delaylab.papers.paper import Paper
from delaylab.progress import Progress
from delaylab.spec.combine import StudyFile
from delaylab.study.order import Planned

DRAWS = 3
"""The number of times that each claim is judged; the most frequent verdict is told."""
SEED = 1


@dataclass(frozen=True)
class Foreseen:
    """The verdict that a claim can be expected to get, were all as in the paper.

    `verdict` is None for a claim whose paper gives no numbers to draw from; `effect` and `interval`
    then are those of round trips with a median of 100 µs and a p99 of 150 µs, all alike.
    """

    claim: str
    verdict: Verdict | None
    why: str
    quantity: str = ""
    unit: str = ""
    effect: float | None = None
    interval: Interval | None = None

    @property
    def decides(self) -> bool:
        """Return True if the study can be expected to decide."""
        return self.verdict in ("reproduced", "contradicted")


def foreseen(
    study: StudyFile,
    planned: list[Planned],
    unfit: dict[str, str],
    paper: Paper | None,
    progress: Progress,
) -> list[Foreseen]:
    """Return what the study can be expected to say of each of its claims, in the study's order.

    `unfit` are the trials that this machine cannot run. Trials are taken to differ by chance only,
    so real intervals may be wider.
    """
    if not study.spec.claims:
        return []
    designs = list(_designs(planned, unfit))
    known = known_claims(paper)
    found: list[Foreseen] = []
    drawn: dict[str, list[list[Group]]] = {}
    for done, spec in enumerate(study.spec.claims):
        name = spec if isinstance(spec, str) else spec.claim
        progress(f"expecting {name}", done / len(study.spec.claims))
        of, claim = known[name] if isinstance(spec, str) else (None, claim_of(spec))
        source = of.name if of is not None and of.world is not None else ""
        if source not in drawn:
            drawn[source] = [_drawn(of if source else None, designs, each) for each in range(DRAWS)]
        judged = [_judged(of, claim, groups) for groups in drawn[source]]
        found.append(_most_frequent(judged, published=bool(source)))
    return found


def _drawn(paper: Paper | None, designs: list[Design], draw: int) -> list[Group]:
    """Return the groups of one draw, from the paper's numbers if it has some."""
    random = np.random.default_rng([SEED, draw])
    if paper is None or paper.world is None:
        return [usual(design, random) for design in designs]
    return [calls.world(paper, paper.world, design, random) for design in designs]


def _judged(paper: Paper | None, claim: Claim, groups: list[Group]) -> Finding:
    return judge(claim, groups) if paper is None else calls.finding(paper, claim, groups)


def _most_frequent(judged: list[Finding], *, published: bool) -> Foreseen:
    verdicts = Counter(each.verdict for each in judged)
    verdict, _ = verdicts.most_common(1)[0]
    told = next(each for each in judged if each.verdict == verdict)
    testable = verdict != "not testable here"
    return Foreseen(
        claim=told.id,
        verdict=verdict if published or not testable else None,
        why=told.why,
        quantity=told.of,
        unit=told.unit,
        effect=told.effect,
        interval=told.interval,
    )


def _designs(planned: list[Planned], unfit: dict[str, str]) -> Iterator[Design]:
    """Yield the design of each combination of levels, without trials that cannot run."""
    together: dict[tuple[str, ...], list[Planned]] = {}
    for trial in planned:
        if trial.id not in unfit:
            levels = tuple(trial.combination.levels.values())
            together.setdefault(levels, []).append(trial)
    for trials in together.values():
        combination = trials[0].combination
        probe, loads = combination.probe, combination.loads
        yield Design(
            levels=combination.levels,
            kind=combination.lab.nodes[probe.sender].kind,
            load="+".join(sorted({load.what for load in loads})) or "rest",
            packets=probe.count,
            trials=len(trials),
            cpus=os.cpu_count(),
        )
