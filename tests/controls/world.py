"""Invented trials for controls, by keywords: see `delaylab_study.analysis.claims.imagined`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from delaylab.records.links import EngineReport
from delaylab_study.analysis.claims import imagined
from delaylab_study.analysis.claims.imagined import (
    CPUS,
    Design,
    Levels,
    Random,
    acting,
    lognormal,
    table,
)
from delaylab_study.analysis.group import Group
from delaylab_study.analysis.packets.rtt import VANTAGE
from delaylab_study.analysis.statistics.quantiles import Floats, summarise
from delaylab_study.dataset.records.rates import Search
from delaylab_study.dataset.records.trial import Load, TrialRecord
from tests.grouped import of_packets

__all__ = [
    "CPUS",
    "Levels",
    "Random",
    "acting",
    "group",
    "lognormal",
    "record",
    "table",
    "with_summaries",
]


def group(
    factors: Levels,
    *,
    kind: str = "netns",
    delays: Mapping[str, Floats] | None = None,
    loads: Sequence[Load] = (),
    repeat: int = 1,
    cpus: int | None = CPUS,
    sent: int | None = None,
    trials: Sequence[TrialRecord] = (),
    summarised: bool = False,
    blocks: int = 1,
) -> Group:
    """A group of one trial, of one in each of several blocks, or of those given.

    Of the packets each block has equally many, in their order.
    """
    design = Design(factors, kind, trials=blocks, first_repeat=repeat, cpus=cpus)
    found = imagined.group(design, delays or {}, loads=loads, sent=sent, trials=trials)
    return with_summaries(found) if summarised else found


def with_summaries(found: Group) -> Group:
    """The group with summaries of its RTTs."""
    packets = of_packets(found)
    rtt = {
        name: summarise([packets.samples[name].to_numpy()])
        for name in VANTAGE
        if packets.samples[name].count()
    }
    return replace(found, packets=replace(packets, rtt=rtt))


def record(
    factors: Levels,
    kind: str,
    loads: Sequence[Load] = (),
    reports: Sequence[EngineReport] = (),
    repeat: int = 1,
    search: Search | None = None,
) -> TrialRecord:
    """The record of a finished trial."""
    return imagined.record(Design(factors, kind), loads, reports, repeat, search)
