"""Packets of one trial as a value: its record, a row for each packet, and its clocks' alignment."""

from __future__ import annotations

from dataclasses import dataclass, replace

import polars as pl

from delaylab.analysis.clocks.align import Alignment
from delaylab.analysis.packets import segments
from delaylab.analysis.packets.named import named
from delaylab.analysis.packets.segments import Segment
from delaylab.dataset.records.trial import TrialRecord
from delaylab.dataset.roles import stamps_with_roles
from delaylab.dataset.store import Study


@dataclass(frozen=True, slots=True)
class TrialPackets:
    """Packets of one trial.

    `table` has a row for each scheduled packet, with its stamps in the sender's clock
    (`segments.aligned`).
    """

    trial: TrialRecord
    table: pl.DataFrame
    alignment: Alignment

    def of(self, phase: str) -> TrialPackets:
        """Return the packets of one phase."""
        return replace(self, table=self.table.filter(pl.col("phase") == phase))

    @property
    def answered(self) -> pl.DataFrame:
        """Return the packets that came back to the sender."""
        return segments.complete(self.table, self.trial.path)

    @property
    def as_stamped(self) -> pl.DataFrame:
        """Return all packets with every stamp in its own point's clock."""
        return segments.as_stamped(self.table)

    def segments(self) -> list[Segment]:
        """Return the segments of the answered packets, with the layers of this trial."""
        return named(self.answered, self.trial)

    def scheduled_by(self, clock: str) -> pl.DataFrame:
        """Return all packets with their schedule in the time of a clock other than the sender's.

        The schedule is moved by the median difference of the two clocks' stamps, which is off by a
        packet's one-way delay to the clock. That is good enough for samples every 100 ms, and it
        works where clocks cannot be aligned. It stays as it is if the clock stamped no packet.
        """
        others = [segments.own_clock(n) for n, c in self.alignment.clocks.items() if c == clock]
        stamped = next((name for name in others if name in self.table.columns), None)
        if stamped is None:
            return self.table
        ahead = (self.table[stamped] - self.table["sent_ns"]).median()
        moved = pl.lit(0 if ahead is None else round(float(str(ahead))), pl.Int64)
        return self.table.with_columns(pl.col("intended_ns", "sent_ns") + moved)


def trial_packets(study: Study, trial: TrialRecord) -> TrialPackets:
    """Read the packets of a trial; its machine's clock is the preferred reference."""
    stamps = stamps_with_roles(study.stamps(trial.id), trial)
    probes = study.probes(trial.id)
    reference = study.record.machine.clock
    return TrialPackets(trial, *segments.aligned(stamps, probes, trial.path, reference))
