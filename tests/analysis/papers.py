"""Datasets of the papers' designs, with delays that follow from the levels."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from delaylab_study.analysis.analyse import groups
from delaylab_study.analysis.claims.finding import Finding
from delaylab_study.analysis.group import Group
from delaylab_study.dataset.store import read_study
from delaylab_study.papers.findings import findings
from delaylab_study.papers.studies import find
from delaylab_study.study_file.combine import combinations
from delaylab_study.study_file.load import load_study
from tests import synthetic
from tests.synthetic import Condition, Delay

Levels = dict[str, str]
Delays = dict[tuple[str, str], Delay]
# Ends of segments: inside the sender's guest and its host, and beyond the wire.
ABOVE, BEYOND = ("request", "sender.vif"), ("reply", "wire")
PACKETS = 60


def dataset(
    place: Path,
    study: str,
    delays: Callable[[Levels], Delays],
    skip: Callable[[Levels], str | None] = lambda levels: None,
) -> tuple[dict[str, Finding], list[Group]]:
    """The study's quick design with these delays; its findings by claim, and its groups."""
    directory = write(place, study, delays, skip)
    read = read_study(directory)
    found = list(groups(read))
    return {finding.id: finding for finding in findings(read, found)}, found


def write(
    place: Path,
    study: str,
    delays: Callable[[Levels], Delays],
    skip: Callable[[Levels], str | None] = lambda levels: None,
    points: tuple[str, ...] = (),
    warnings: tuple[dict[str, str], ...] = (),
) -> Path:
    """Write the dataset; `points` are those of the responder's side, `warnings` of every trial."""
    spec = load_study(find(study))
    conditions = [
        Condition(
            kind=combination.lab.nodes["probe"].kind,
            load=combination.loads[0].what if combination.loads else "rest",
            packets=PACKETS,
            seed=index,
            delays=delays(combination.levels),
            factors=combination.levels,
            skipped=skip(combination.levels),
            responder_points=points,
            warnings=list(warnings),
        )
        for index, combination in enumerate(combinations(spec, "quick"))
    ]
    claims = [claim for claim in spec.spec.claims if isinstance(claim, str)]
    return synthetic.write(place, conditions, claims, study)
