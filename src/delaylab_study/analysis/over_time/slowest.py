"""The slowest packets under load: the events that they were in, and where these lost their time.

A queue delays many packets in a row. An event is the slowest packet that is in no other one, with
its neighbours of the same cause: those that lost their time in the same segment, are among the
slowest tenth of all packets, and lost a tenth of that packet's time or more. Two packets between
them that are not do not end it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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

# Number of events of a group that are named.
NAMED = 10
# Part of the slowest packet's excess that its neighbours in an event have, part of all packets that
# are slow enough, and number of other packets between them.
PART, SLOW, BETWEEN = 0.1, 0.9, 2


@dataclass(frozen=True, slots=True)
class LostIn:
    """A segment of a packet, such as that in which it lost more time than in any other.

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
        """Return the time lost in the segment: its delay less the usual one."""
        return self.delay_us - self.usual_us


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowPacket:
    """A packet with one of the largest user RTTs of its group under load.

    `after_s` is when it was sent, from the trial's first packet on; `usual_us` is the median user
    RTT of the group. `busy`, `steal` and `pressure` are the machine's in the interval in which it
    was sent, None if they are not known; `programs` and `groups` (control groups) are the busiest
    outside the lab then. `parts` are all its segments, of which `lost_in` is one.

    It stands for an event of so many `packets`, sent from `first_s` to `last_s`.
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
    parts: tuple[LostIn, ...] = ()
    packets: int = 1
    first_s: float = 0.0
    last_s: float = 0.0

    @property
    def excess_us(self) -> float:
        """Return the time by which it was slower than usual."""
        return self.rtt_us - self.usual_us

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


@dataclass(frozen=True, slots=True)
class _Event:
    """An event: the row of its slowest packet, and the rows of all its packets in their order."""

    peak: int
    rows: NDArray[np.intp]


def slowest(
    answered: pl.DataFrame,
    user_ns: NDArray[np.int64],
    parts: Sequence[Segment],
    trials: Sequence[TrialTimes],
) -> list[SlowPacket]:
    """Return the slowest packet of each event of a group's answered packets, the slowest first.

    `user_ns` are their user RTTs and `parts` their segments.
    """
    if not len(user_ns) or not parts:
        return []
    usual = [float(np.median(part.delay_ns)) for part in parts]
    usual_ns = float(np.median(user_ns))
    excess_ns = user_ns.astype(np.float64) - usual_ns
    where = _lost_in(len(user_ns), parts, usual)
    keys = np.stack(
        [answered[name].to_numpy().astype(np.int64) for name in (TRIAL, "probe", "seq")]
    )
    return [
        _packet(
            keys[:, [event.peak, *event.rows[[0, -1]]]],
            (float(user_ns[event.peak]) / 1000, usual_ns / 1000),
            _parts_of(event.peak, parts, usual),
            trials,
            len(event.rows),
        )
        for event in _events(excess_ns, where, keys[:2])
    ]


def _lost_in(packets: int, parts: Sequence[Segment], usual: Sequence[float]) -> NDArray[np.intp]:
    """Return the number of the segment in which each packet lost most, −1 where none is known."""
    most, where = np.full(packets, -np.inf), np.full(packets, -1, dtype=np.intp)
    for number, (part, usual_ns) in enumerate(zip(parts, usual, strict=True)):
        lost = part.delay_ns - usual_ns
        more = lost > most[part.rows]
        most[part.rows[more]], where[part.rows[more]] = lost[more], number
    return where


def _events(
    excess_ns: NDArray[np.float64], where: NDArray[np.intp], series: NDArray[np.int64]
) -> Iterator[_Event]:
    """Yield the events with the slowest packets; `series` has each packet's trial and probe."""
    slow_ns = float(np.quantile(excess_ns, SLOW))
    free = where >= 0
    found = 0
    for peak in np.argsort(-excess_ns, kind="stable").tolist():
        if found == NAMED:
            return
        if not free[peak]:
            continue
        alike = free & (where == where[peak]) & (excess_ns > slow_ns)
        alike &= excess_ns >= PART * excess_ns[peak]
        alike &= (series == series[:, peak, None]).all(axis=0)
        alike[peak] = True
        rows = np.flatnonzero(alike)
        rows = next(
            part
            for part in np.split(rows, np.flatnonzero(np.diff(rows) > BETWEEN + 1) + 1)
            if part[0] <= peak <= part[-1]
        )
        # What lies between them belongs to no other event.
        free[rows[0] : rows[-1] + 1] = False
        found += 1
        yield _Event(peak, rows)


def _parts_of(row: int, parts: Sequence[Segment], usual: Sequence[float]) -> list[LostIn]:
    """Return the segments of a packet, in the order in which it passed them."""
    found = []
    for part, usual_ns in zip(parts, usual, strict=True):
        place = int(np.searchsorted(part.rows, row))
        if place < len(part.rows) and part.rows[place] == row:
            ends = part.leg, part.start, part.end, part.layer, part.at, part.direction
            found.append(LostIn(*ends, float(part.delay_ns[place]) / 1000, usual_ns / 1000))
    return found


def _packet(
    keys: NDArray[np.int64],
    rtt_us: tuple[float, float],
    parts: list[LostIn],
    trials: Sequence[TrialTimes],
    packets: int,
) -> SlowPacket:
    """Return the slowest packet of an event.

    `keys` are the trial, probe and number of this packet, and of the event's first and last one,
    one a column. `rtt_us` is its RTT and the usual one.
    """
    number, probe, seq = keys[:, 0].tolist()
    trial = trials[number]
    sent_ns, first_ns, last_ns = (trial.sent_ns(*key) for key in keys[1:].T.tolist())
    inside = trial.interval(sent_ns)
    state = {} if inside.is_empty() else inside.row(0, named=True)
    return SlowPacket(
        trial=trial.id,
        probe=probe,
        seq=seq,
        after_s=(sent_ns - trial.start_ns) / 1e9,
        rtt_us=rtt_us[0],
        usual_us=rtt_us[1],
        lost_in=max(parts, key=lambda part: part.lost_us),
        busy=state.get("busy"),
        steal=state.get("steal"),
        pressure=state.get("pressure"),
        programs=busiest_programs(inside) if state else (),
        groups=busiest_groups(inside) if state else (),
        parts=tuple(parts),
        packets=packets,
        first_s=(first_ns - trial.start_ns) / 1e9,
        last_s=(last_ns - trial.start_ns) / 1e9,
    )
