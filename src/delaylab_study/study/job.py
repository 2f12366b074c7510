"""Values between a study and an executor: a block of trials, and the outcome of each."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from delaylab.api.records import MachineRecord
from delaylab_study.dataset.records.rates import HeldRate
from delaylab_study.dataset.records.trial import Status, TrialRecord
from delaylab_study.study.block_rates import Key
from delaylab_study.study.order import Planned


@dataclass(frozen=True)
class Block:
    """Trials that one machine runs in this order: it may share labs and found rates among them.

    `finished` are the ids of those that ran before. `known` are the rates that they found.
    `captures` is the folder that gets each trial's packets, None if they are not kept.
    """

    trials: tuple[Planned, ...]
    finished: frozenset[str] = frozenset()
    known: dict[Key, HeldRate] = field(default_factory=dict)
    captures: Path | None = None


@dataclass(frozen=True)
class RanOn:
    """A machine of a campaign: its name, and what it says of itself."""

    name: str
    machine: MachineRecord


@dataclass(frozen=True)
class TrialOutcome:
    """The end of one trial: its record, which says if it is ok, and its tables by name.

    `ran_on` is the machine that ran it, None for the one on which the study was started.
    """

    planned: Planned
    record: TrialRecord
    tables: dict[str, pl.DataFrame]
    ran_on: RanOn | None = None

    @property
    def status(self) -> Status:
        """Return how the trial ended."""
        return self.record.status

    @property
    def reason(self) -> str | None:
        """Return the reason for `failed` or `skipped`."""
        return self.record.reason
