"""How true a trial's links with conditions were: what was asked beside what was done.

Two witnesses: the engine's own counts and lateness, for all frames (`verdict`), and the probe's
stamps at the ports before and behind the engine, for its packets (`fidelity_probe`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import polars as pl

from delaylab.analysis.doubt import Doubt, Kind
from delaylab.analysis.fidelity_probe import Measured, measured
from delaylab.analysis.verdict import (
    MEDIAN_LATE_NS,
    MEDIAN_OF,
    P99_LATE_NS,
    P99_OF,
    Verdict,
    judge,
)
from delaylab.records.trial import TrialRecord

REMEDY = "give the engine a CPU of its own (`engine: {cpus: [1]}`); see docs/links.md on verdicts"


@dataclass(frozen=True, slots=True)
class TrialLink:
    """A direction in one trial: the verdict, and what the probe's packets saw."""

    trial: str
    verdict: Verdict
    measured: Measured | None


def trial_links(trial: TrialRecord, table: pl.DataFrame) -> list[TrialLink]:
    """Return how true a trial's links were; `table`: its packets under load (`segments`)."""
    found = []
    for verdict in judge(trial.links):
        seen = measured(trial, table, verdict.direction)
        # The kernel does not say how late it was: its witness is the probe alone.
        more = () if verdict.direction.late.count else tuple(_missed(seen))
        whole = replace(verdict, own=(*verdict.own, *more))
        found.append(TrialLink(trial.id, whole, seen))
    return found


def link_doubts(links: Iterable[TrialLink]) -> list[Doubt]:
    """Return a doubt for each reason why a link did not hold."""
    messages = [
        f"{link.trial}: {prefix}{why}"
        for link in links
        for prefix, reasons in (
            ("", link.verdict.of_engine),
            (f"{link.verdict.name}: ", link.verdict.own),
        )
        for why in reasons
    ]
    return [Doubt(Kind.LINK_NOT_HELD, message, REMEDY) for message in dict.fromkeys(messages)]


def _missed(seen: Measured | None) -> Iterator[str]:
    """Yield by how much the probe's packets missed the delay, where an engine's word is missing."""
    if seen is None or seen.error is None:
        return
    median, p99 = abs(seen.error.median), seen.error.p99
    if seen.n >= MEDIAN_OF and median * 1000 > MEDIAN_LATE_NS:
        yield f"half of the probe's packets missed the delay by more than {median:.0f} µs"
    elif seen.n >= P99_OF and p99 * 1000 > P99_LATE_NS:
        yield f"one of the probe's packets in 100 was more than {p99:.0f} µs late"
