"""Fidelity of a trial's links with conditions: configured against achieved.

There are two sources: the engine's own counts and lateness, for all frames (`verdict`), and the
probe's stamps at the ports before and behind the engine, for its packets (`fidelity_probe`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import polars as pl

from delaylab.analysis.links.delays import Measured, measured
from delaylab.analysis.links.verdict import (
    MEDIAN_LATE_NS,
    MEDIAN_OF,
    P99_LATE_NS,
    P99_OF,
    Verdict,
    judge,
)
from delaylab.dataset.records.doubts import Doubt, DoubtKind, doubt, each_once
from delaylab.dataset.records.trial import TrialRecord

REMEDY = "give the engine a CPU of its own (`engine: {cpus: [1]}`); see docs/links.md on verdicts"


@dataclass(frozen=True, slots=True)
class TrialLink:
    """Direction of a link in one trial: the verdict, and what the probe's packets measured."""

    trial: str
    verdict: Verdict
    measured: Measured | None


def trial_links(trial: TrialRecord, table: pl.DataFrame) -> list[TrialLink]:
    """Return the verdict on each link of a trial, and what the probe measured there.

    `table` holds the trial's packets under load, one row each (`segments`).
    """
    found = []
    for verdict in judge(trial.links):
        seen = measured(trial, table, verdict.direction)
        # The kernel's queues do not report lateness, so only the probe's packets can tell.
        more = () if verdict.direction.late.count else tuple(_missed(seen))
        whole = replace(verdict, own=(*verdict.own, *more))
        found.append(TrialLink(trial.id, whole, seen))
    return found


def link_doubts(links: Iterable[TrialLink]) -> list[Doubt]:
    """Return a doubt for each reason why a link did not hold its conditions."""
    found = [
        doubt(
            DoubtKind.LINK_NOT_HELD,
            f"{link.trial}: {prefix}{why}",
            REMEDY,
            trial=link.trial,
            link=link.verdict.direction.link,
        )
        for link in links
        for prefix, reasons in (
            ("", link.verdict.of_engine),
            (f"{link.verdict.name}: ", link.verdict.own),
        )
        for why in reasons
    ]
    return each_once(found)


def _missed(seen: Measured | None) -> Iterator[str]:
    """Yield the error of the delay that the probe measured, if it is over the limit.

    Use this where the engine reports no lateness itself.
    """
    if seen is None or seen.error is None:
        return
    median, p99 = abs(seen.error.median), seen.error.p99
    if seen.n >= MEDIAN_OF and median * 1000 > MEDIAN_LATE_NS:
        yield f"median error of the delay of the probe's packets {median:.0f} µs"
    elif seen.n >= P99_OF and p99 * 1000 > P99_LATE_NS:
        yield f"p99 lateness of the probe's packets {p99:.0f} µs"
