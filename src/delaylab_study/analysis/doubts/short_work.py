"""Work that ended soon: most packets of its phase were sent when nobody worked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from delaylab.api.records import Doubt, DoubtKind, doubt
from delaylab_study.analysis.doubts.machine_state import Window
from delaylab_study.dataset.records.trial import TrialRecord

COVERED = 0.5
"""Smallest share of the phase under load that the work of a trial must cover."""

MOMENTS = 1001
"""Number of moments of a phase at which it is asked whether a node was at work."""


def short_work(
    trials: Sequence[TrialRecord], phases: Sequence[Sequence[Window]], phase: str
) -> Iterator[Doubt]:
    """Yield a doubt for the trials in which work covers too little of a phase of packets.

    `phases` are the times of each trial's phases.
    """
    shares = [
        share
        for trial, windows in zip(trials, phases, strict=True)
        if (share := covered(trial, windows, phase)) is not None and share < COVERED
    ]
    if shares:
        of = f"{len(shares)} of {len(trials)} trials" if len(trials) > 1 else "its trial"
        yield doubt(
            DoubtKind.SHORT_WORK,
            f"in {of} work covered less than half of the time in which packets were sent, at least "
            f"{100 * min(shares):.2g} %: the other packets say nothing of it",
            "give the nodes more work, or send fewer packets or at a shorter interval",
            covered=min(shares),
            trials=len(shares),
        )


def covered(trial: TrialRecord, phases: Sequence[Window], phase: str) -> float | None:
    """Return the share of a phase that some node spent at work; None without work."""
    spans = [
        (job.began_ns, job.began_ns + job.wall_ns)
        for job in trial.work
        if job.began_ns is not None and job.wall_ns is not None
    ]
    start, end = next(((first, last) for name, first, last in phases if name == phase), (0, 0))
    if not spans or end <= start:
        return None
    moments = np.linspace(start, end, MOMENTS)
    during = [(moments >= began) & (moments < ended) for began, ended in spans]
    whole = min(1.0, sum(ended - began for began, ended in spans) / (end - start))
    return min(whole, float(np.any(during, axis=0).mean()))
