"""The packets of one trial with their stamps, in the sender's clock."""

from __future__ import annotations

import polars as pl

from delaylab.analysis.clocks.align import Alignment
from delaylab.analysis.packets.segments import aligned
from delaylab.analysis.packets.trial import TrialPackets
from delaylab.dataset.records.trial import TrialRecord
from delaylab.dataset.records.ways import Way


def packets(stamps: pl.DataFrame, probes: pl.DataFrame, path: Way) -> pl.DataFrame:
    return aligned(stamps, probes, path)[0]


def of_trial(trial: TrialRecord, stamps: pl.DataFrame, probes: pl.DataFrame) -> TrialPackets:
    return TrialPackets(trial, *aligned(stamps, probes, trial.way))


def of_one_clock(trial: TrialRecord, table: pl.DataFrame) -> TrialPackets:
    return TrialPackets(trial, table, Alignment("", [], {}, {}))
