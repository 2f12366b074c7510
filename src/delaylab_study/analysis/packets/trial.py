"""Packets of one trial as a value: its record, a row for each packet, and its clocks' alignment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import polars as pl

from delaylab_study.analysis.clocks.align import Alignment
from delaylab_study.analysis.clocks.exchanges import Exchanges, exchanges
from delaylab_study.analysis.packets import segments
from delaylab_study.analysis.packets.named import named
from delaylab_study.analysis.packets.segments import Segment
from delaylab_study.analysis.packets.table import Packets
from delaylab_study.analysis.packets.ways import OFF, UNKNOWN, common, names, parted
from delaylab_study.dataset.records.trial import TrialRecord
from delaylab_study.dataset.records.ways import Way
from delaylab_study.dataset.roles import on_way
from delaylab_study.dataset.store import Study


@dataclass(frozen=True, slots=True)
class TrialPackets:
    """Packets of one trial, all of one way.

    `trial` is its record as if it had that way alone, `compared` are the probes by which the
    machines compared their clocks.
    """

    trial: TrialRecord
    packets: Packets
    alignment: Alignment
    compared: Sequence[Exchanges] = ()

    def of(self, phase: str) -> TrialPackets:
        """Return the packets of one phase."""
        return replace(self, packets=self.packets.of(phase))

    @property
    def answered(self) -> Packets:
        """Return the packets that came back to the sender."""
        return self.packets.complete(self.trial.way)

    def segments(self) -> list[Segment]:
        """Return the segments of the answered packets, with the layers of this trial."""
        return named(self.answered, self.trial)

    def scheduled_by(self, clock: str) -> Packets:
        """Return all packets with their schedule in the time of a clock other than the sender's.

        The schedule is moved by the median difference of the two clocks' stamps, which is off by a
        packet's one-way delay to the clock. That is good enough for samples every 100 ms, and it
        works where clocks cannot be aligned. It stays as it is if the clock stamped no packet.
        """
        scheduled, stations = self.packets.scheduled, self.packets.stations
        of_clock = (stations[at].own for at, its in self.alignment.clocks.items() if its == clock)
        stamped = next((own for own in of_clock if own is not None), None)
        if stamped is None:
            return self.packets
        ahead = (stamped - scheduled["sent_ns"]).median()
        moved = pl.lit(0 if ahead is None else round(float(str(ahead))), pl.Int64)
        on_time = scheduled.with_columns(pl.col("intended_ns", "sent_ns") + moved)
        return replace(self.packets, scheduled=on_time)


@dataclass(frozen=True, slots=True)
class PacketsByWay:
    """Packets of one trial: all of them, and apart by the way that they went.

    `whole` has every packet at the points that all ways share. `on` has those of each way, by its
    name, with the record as if the trial had that way alone; with one way they are all packets.
    `unknown` are packets that fit several ways, `off` those that fit no way, both None with one
    way.
    """

    whole: TrialPackets
    on: dict[str, TrialPackets]
    unknown: TrialPackets | None = None
    off: TrialPackets | None = None


def trial_packets(study: Study, trial: TrialRecord) -> TrialPackets:
    """Read the packets of a trial: at all points of its way, or those that its ways share.

    The clock of the sender's machine is the preferred reference.
    """
    if len(trial.ways) > 1:
        trial = on_way(trial, common(trial.ways))
    return _aligned(study, trial, study.stamps(trial.id), study.probes(trial.id))


def packets_by_way(study: Study, trial: TrialRecord) -> PacketsByWay:
    """Read the packets of a trial, and part them by the way that they went."""
    if len(trial.ways) < 2:
        whole = trial_packets(study, trial)
        return PacketsByWay(whole, {trial.way.name: whole})
    stamps, probes = study.stamps(trial.id), study.probes(trial.id)
    found = parted(stamps, probes, trial.ways)
    # How often taps saw packets again is not known by way.
    bare = trial.model_copy(update={"repeats": None})
    whole = _aligned(study, on_way(trial, common(trial.ways)), stamps, probes)

    def part(number: int, way: Way) -> TrialPackets:
        one = on_way(bare, way)
        return _aligned(study, one, found.of(stamps, number), found.of(probes, number))

    return PacketsByWay(
        whole,
        {
            name: part(number, way)
            for number, (name, way) in enumerate(zip(names(trial.ways), trial.ways, strict=True))
        },
        part(UNKNOWN, common(trial.ways)),
        part(OFF, common(trial.ways)),
    )


def _aligned(
    study: Study, trial: TrialRecord, stamps: pl.DataFrame, probes: pl.DataFrame
) -> TrialPackets:
    reference = study.record.machines[study.record.named(trial.machine)].clock
    compared = exchanges(study.comparisons(trial.id), trial.comparisons)
    packets, alignment = segments.aligned(stamps, probes, trial.way, reference, compared)
    return TrialPackets(trial, packets, alignment, compared)
