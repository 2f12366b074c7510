"""Fidelity of a trial's links with conditions: configured against achieved.

There are two sources: the engine's own counts and lateness, for all frames (`verdict`), and the
probe's stamps at the ports before and behind the engine, for its packets (`fidelity_probe`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import polars as pl

from delaylab.api.records import Direction, Doubt, DoubtKind, doubt, each_once
from delaylab.api.verdicts import (
    MEDIAN_LATE_NS,
    MEDIAN_OF,
    P99_LATE_NS,
    P99_OF,
    LinkDowntime,
    LinkVerdict,
    judge_links,
)
from delaylab_study.analysis.links.delays import MeasuredDelays, measured
from delaylab_study.analysis.packets.table import Packets
from delaylab_study.dataset.records.trial import TrialRecord
from delaylab_study.dataset.records.ways import Way

REMEDY = "give the engine a CPU of its own (`engine: {cpus: [1]}`); see docs/links.md on verdicts"

OF_UNDERLAY = (
    "give the link a longer delay, or put its nodes on one machine; `down` and `up` measure the "
    "network anew (docs/machines.md)"
)
CLOSED = "see what firewalls and the network must let through (docs/machines.md)"


@dataclass(frozen=True, slots=True)
class TrialLink:
    """A direction of a link in one trial: the verdict, and what the probe's packets measured."""

    trial: str
    verdict: LinkVerdict
    measured: MeasuredDelays | None


def trial_links(
    trial: TrialRecord,
    ways: Sequence[tuple[Way, Packets]] = (),
    scheduled: pl.DataFrame | None = None,
) -> list[TrialLink]:
    """Return the verdict on each link of a trial, and what the probe measured there.

    `ways` give for each way its packets under load; `scheduled` has all
    of them with their times in the clock of the links' host.
    """
    found = []
    received = _received(trial)
    for verdict in judge_links(trial.links, trial.underlays, closed=trial.closed):
        seen = measured(ways, verdict.direction, received.get(verdict.direction.link, {}))
        # The kernel's queues do not report lateness, so only the probe's packets can tell.
        more = () if verdict.direction.late.count else tuple(_missed(seen))
        downtimes = verdict.downtimes
        if downtimes is not None and scheduled is not None:
            downtimes = with_packets(downtimes, scheduled)
        whole = replace(verdict, own=(*verdict.own, *more), downtimes=downtimes)
        found.append(TrialLink(trial.id, whole, seen))
    return found


def _received(trial: TrialRecord) -> dict[str, dict[str, Direction]]:
    """Return the conditions at receivers by link and node."""
    found: dict[str, dict[str, Direction]] = {}
    for engine in trial.links:
        for each in (each for each in engine.of_nodes if each.receives):
            found.setdefault(each.link, {}).update(dict.fromkeys(each.nodes, each))
    return found


def with_packets(downtimes: LinkDowntime, packets: pl.DataFrame) -> LinkDowntime:
    """Return downtimes with the count of the packets sent then, and of the lost and late ones.

    `packets` has a row for each scheduled packet, with its times in the clock of the links' host.
    """
    within = pl.lit(value=False)
    # A packet that the kernel refused was not sent, but was due at a time.
    at = pl.coalesce("sent_ns", "intended_ns")
    for since_ns, until_ns in downtimes.spans:
        here = at >= since_ns
        within |= here if until_ns is None else here & (at < until_ns)
    sent = packets.filter(within)
    fates: dict[str, int] = dict(sent.group_by("outcome").len().iter_rows())
    return LinkDowntime(
        link=downtimes.link,
        states=downtimes.states,
        total_ns=downtimes.total_ns,
        spans=downtimes.spans,
        packets=len(sent),
        lost=fates.get("lost", 0),
        late=fates.get("late", 0),
        refused=fates.get("refused", 0),
    )


def lost_in_downtimes(links: Iterable[TrialLink]) -> int:
    """Return how many packets of the probe were lost or refused while a link was not up.

    Of several links in one trial, the one with the most counts: a packet may be lost only once.
    """
    lost: dict[str, int] = {}
    for each in links:
        downtimes = each.verdict.downtimes
        if downtimes is not None:
            here = (downtimes.lost or 0) + downtimes.refused
            lost[each.trial] = max(lost.get(each.trial, 0), here)
    return sum(lost.values())


def link_doubts(links: Iterable[TrialLink]) -> list[Doubt]:
    """Return a doubt for each reason why a link did not hold its conditions."""
    found = [
        doubt(
            DoubtKind.LINK_NOT_HELD,
            f"{link.trial}: {prefix}{why}",
            remedy,
            trial=link.trial,
            link=link.verdict.direction.link,
        )
        for link in links
        for prefix, reasons, remedy in (
            ("", link.verdict.of_engine, REMEDY),
            (f"{link.verdict.name}: ", link.verdict.own, REMEDY),
            (f"{link.verdict.name}: ", link.verdict.of_underlay, OF_UNDERLAY),
            (f"{link.verdict.name}: ", link.verdict.closed, CLOSED),
        )
        for why in reasons
    ]
    return each_once(found)


def _missed(seen: MeasuredDelays | None) -> Iterator[str]:
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
