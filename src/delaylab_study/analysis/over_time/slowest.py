"""The slowest packets under load, each with the segment that it lost its time in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from delaylab_study.analysis.doubts.other_work import (
    BusyGroup,
    BusyProgram,
    busiest_groups,
    busiest_programs,
)
from delaylab_study.analysis.packets.segments import Segment
from delaylab_study.analysis.packets.table import TRIAL, Packets

# Number of packets of a group that are named.
NAMED = 10


@dataclass(frozen=True, slots=True)
class LostIn:
    """The segment in which a packet lost more time than in any other: its delay − the usual one.

    The usual delay is the median over the group's packets. Both are one-way, in µs.
    """

    leg: str
    start: str
    end: str
    layer: str
    at: str
    direction: str
    delay_us: float
    usual_us: float

    @property
    def lost_us(self) -> float:
        """Return the time lost in the segment."""
        return self.delay_us - self.usual_us


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowPacket:
    """A packet with one of the largest user RTTs of its group under load.

    `after_s` is when it was sent, from the trial's first packet on; `usual_us` is the median user
    RTT of the group. `busy`, `steal` and `pressure` are the machine's in the interval in which it
    was sent, None if they are not known; `programs` and `groups` (control groups) are the busiest
    outside the lab then.
    """

    trial: str
    probe: int
    seq: int
    after_s: float
    rtt_us: float
    usual_us: float
    lost_in: LostIn
    busy: float | None
    steal: float | None
    pressure: float | None
    programs: tuple[BusyProgram, ...] = ()
    groups: tuple[BusyGroup, ...] = ()

    @property
    def times(self) -> float:
        """Return the RTT as a multiple of the usual one."""
        return self.rtt_us / self.usual_us if self.usual_us > 0 else 0.0


@dataclass(frozen=True, slots=True)
class TrialTimes:
    """Times of a trial in the machine's clock: its packets' schedule, and the machine's record."""

    id: str
    packets: Packets
    record: pl.DataFrame

    @property
    def start_ns(self) -> int:
        """Return the time of the first packet, at rest or not."""
        return int(str(self.packets.scheduled["intended_ns"].min())) if len(self.packets) else 0

    # Few packets are looked up, each by itself: a query of Polars for each would take longer.
    def sent_ns(self, probe: int, seq: int) -> int:
        """Return when a packet was sent."""
        scheduled = self.packets.scheduled
        probes, seqs = (scheduled[name].to_numpy() for name in ("probe", "seq"))
        return int(scheduled["sent_ns"][int(np.argmax((probes == probe) & (seqs == seq)))])

    def interval(self, time_ns: int) -> pl.DataFrame:
        """Return the sampled interval that a time lies in, as a table of one row or none."""
        since, until = (self.record[name].to_numpy() for name in ("since_ns", "time_ns"))
        inside = np.flatnonzero((since < time_ns) & (until >= time_ns))
        return self.record.slice(int(inside[0]), 1) if len(inside) else self.record.clear()


def slowest(
    answered: pl.DataFrame,
    user_ns: NDArray[np.int64],
    parts: Sequence[Segment],
    trials: Sequence[TrialTimes],
) -> list[SlowPacket]:
    """Return the slowest of a group's answered packets, the slowest first.

    `user_ns` are their user RTTs and `parts` their segments.
    """
    if not len(user_ns) or not parts:
        return []
    rows = np.argsort(-user_ns, kind="stable")[:NAMED]
    usual_us = float(np.median(user_ns)) / 1000
    lost = _lost_in(rows, parts)
    return [
        _packet(answered.row(int(row), named=True), float(user_ns[row]), usual_us, where, trials)
        for row in rows
        if (where := lost.get(int(row))) is not None
    ]


def _lost_in(rows: NDArray[np.intp], parts: Sequence[Segment]) -> dict[int, LostIn]:
    found: dict[int, LostIn] = {}
    for part in parts:
        here = np.flatnonzero(np.isin(part.rows, rows))
        usual_us = float(np.median(part.delay_ns)) / 1000 if len(here) else 0.0
        for index in here.tolist():
            row, delay_us = int(part.rows[index]), float(part.delay_ns[index]) / 1000
            if row not in found or delay_us - usual_us > found[row].lost_us:
                ends = part.leg, part.start, part.end, part.layer, part.at, part.direction
                found[row] = LostIn(*ends, delay_us, usual_us)
    return found


def _packet(
    row: dict[str, object],
    rtt_ns: float,
    usual_us: float,
    lost_in: LostIn,
    trials: Sequence[TrialTimes],
) -> SlowPacket:
    trial = trials[int(str(row[TRIAL]))]
    probe, seq = int(str(row["probe"])), int(str(row["seq"]))
    sent_ns = trial.sent_ns(probe, seq)
    inside = trial.interval(sent_ns)
    state = {} if inside.is_empty() else inside.row(0, named=True)
    return SlowPacket(
        trial=trial.id,
        probe=probe,
        seq=seq,
        after_s=(sent_ns - trial.start_ns) / 1e9,
        rtt_us=rtt_ns / 1000,
        usual_us=usual_us,
        lost_in=lost_in,
        busy=state.get("busy"),
        steal=state.get("steal"),
        pressure=state.get("pressure"),
        programs=busiest_programs(inside) if state else (),
        groups=busiest_groups(inside) if state else (),
    )
