"""Packets of a trial that were looked at: the segments of each, and the causes of its excess."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import polars as pl
from numpy.typing import NDArray

from delaylab.api.causes import (
    BOTH,
    CpuWindow,
    Explained,
    Hold,
    Leg,
    Passage,
    SentAgain,
    Stage,
    WatchedPacket,
    explain,
    moved,
    part_of,
    tcp_holds,
    usual_of,
)
from delaylab.api.points import RESPONDER, bare, role
from delaylab_study.analysis.causes.drawn import DrawnPackets, drawn_packets
from delaylab_study.analysis.causes.lost import lost
from delaylab_study.analysis.causes.parts import Passed, parts, stages
from delaylab_study.analysis.causes.passages import passages
from delaylab_study.analysis.causes.windows import PacketWindows, windows
from delaylab_study.analysis.clocks.stations import Station
from delaylab_study.analysis.packets.table import MEASURED
from delaylab_study.analysis.packets.trial import TrialPackets, trial_packets
from delaylab_study.dataset.records.trial import TrialRecord
from delaylab_study.dataset.store import Study

PROGRAM = "app"
"""The point at which a program stamps, without its side."""
SLIP, HANDSHAKE = "send slip", "handshake"


@dataclass(frozen=True, slots=True, kw_only=True)
class LookedAt:
    """A packet of a trial that was looked at, and why it took longer than usual.

    `rtt_ns` is its user RTT with the time by which it was sent late. `segments` names the segments
    that the shares number. `stages` and `window` are by the sender's clock. So are `others`, the
    windows of other kernels on its way, by their machines.
    """

    trial: TrialRecord
    seq: int
    rtt_ns: int
    stages: Sequence[Stage]
    segments: Sequence[str]
    window: CpuWindow
    others: Mapping[str, CpuWindow]
    explained: Explained

    @property
    def start_ns(self) -> int:
        """Return when the packet was due, in ns since the Unix epoch."""
        return self.stages[0].start_ns

    @property
    def end_ns(self) -> int:
        """Return when its answer came, in ns since the Unix epoch."""
        return self.stages[-1].end_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class LookedAtTrial:
    """The packets of a trial that were looked at, in the order of sending, but for usual ones.

    `usual` is the number of usual packets. There are no `packets` if these are too few. `rtts_ns`
    has the times of all answered packets under load, shape (n,), as `LookedAt.rtt_ns`. `lost` are
    the packets that were lost under load, by how, in words. `drawn` are those drawn at random, each
    judged.
    """

    trial: TrialRecord
    packets: Sequence[LookedAt]
    usual: int
    rtts_ns: NDArray[np.int64]
    lost: Counter[str]
    drawn: DrawnPackets


def recorded(study: Study, trial: TrialRecord) -> bool:
    """Return True if CPUs were recorded around packets of a trial."""
    return study.table_file(trial.id, "windows").exists()


def looked_at(study: Study, trial: TrialRecord) -> LookedAtTrial:
    """Return the packets of a trial that were looked at, with the causes of their excess."""
    read = trial_packets(study, trial)
    stations = [at for at in read.packets.stations if len(read.answered)]
    watched = list(windows(study, trial.id))
    rows = dict(_passed(read, stations, watched[0].lab)) if watched else {}
    machines = frozenset(each.clock for each in study.record.machines.values())
    passed = passages(study, trial.id)
    handshake = [HANDSHAKE] if _has_handshakes(read, stations) else []
    names = [SLIP, *handshake, *_names(read, stations)]
    legs = [frozenset[Leg](), *[BOTH for _ in handshake], *_legs(stations)]
    found = [
        (
            each,
            due_ns,
            points,
            _watched(each, due_ns, points, machines, legs, passed.get((each.probe, each.seq), ())),
        )
        for each in watched
        if (row := rows.get((each.probe, each.seq)))
        for due_ns, points in [row]
    ]
    quiet = [packet for each, _, _, packet in found if each.usual]
    expected = usual_of(quiet, len(names))
    packets = []
    for each, due_ns, points, packet in found if expected is not None else ():
        if not each.usual and expected is not None:
            packets.append(
                LookedAt(
                    trial=trial,
                    seq=each.seq,
                    rtt_ns=points[-1].time_ns - due_ns,
                    stages=stages(due_ns, points),
                    segments=names,
                    window=each.kernels[0].window,
                    others=dict(_others(each, points)),
                    explained=explain(each.seq, packet, expected),
                )
            )
    of_packet = {each.key: packet for each, _, _, packet in found}
    return LookedAtTrial(
        trial=trial,
        packets=packets,
        usual=len(quiet),
        rtts_ns=_rtts_ns(read, stations),
        lost=lost(study, trial),
        drawn=drawn_packets(
            read,
            {each.key: of_packet.get(each.key) for each in watched if each.drawn},
        ),
    )


def _rtts_ns(read: TrialPackets, stations: Sequence[Station]) -> NDArray[np.int64]:
    answered = read.of(MEASURED).answered
    if not len(answered):
        return np.empty(0, np.int64)
    due = pl.min_horizontal(answered.scheduled["intended_ns"], answered.stations[stations[0]].times)
    return (answered.stations[stations[-1]].times - pl.select(due).to_series()).to_numpy()


def _others(packet: PacketWindows, points: Sequence[Passed]) -> Iterator[tuple[str, CpuWindow]]:
    """Yield the windows of other kernels that stamped a packet, by the sender's clock."""
    for kernel in packet.kernels[1:]:
        at = next((point for point in points if point.clock == kernel.clock), None)
        if at is not None:
            yield kernel.machine, moved(kernel.window, at.time_ns - at.own_ns)


def _watched(
    packet: PacketWindows,
    due_ns: int,
    points: Sequence[Passed],
    machines: frozenset[str],
    legs: Sequence[frozenset[Leg]],
    passed: Sequence[tuple[str, Passage]],
) -> WatchedPacket:
    of_clock = {kernel.clock: kernel.window for kernel in packet.kernels}
    by_links: dict[str, list[Hold]] = {}
    for clock, passage in passed:
        by_links.setdefault(clock, []).extend(passage.holds)
    by_tcp = _tcp_holds(packet, due_ns, points, legs)
    return WatchedPacket(
        parts=parts(due_ns, points, of_clock, machines, by_tcp, by_links),
        lab=packet.lab,
        passages=[passage for _, passage in passed],
    )


def _tcp_holds(
    packet: PacketWindows, due_ns: int, points: Sequence[Passed], legs: Sequence[frozenset[Leg]]
) -> list[Hold]:
    """Return the times for which TCP held a packet, by the sender's clock."""
    found = stages(due_ns, points)
    again = _sent_again(packet, points)
    return tcp_holds(zip(found, legs, strict=True), again, since_ns=points[0].time_ns)


def _sent_again(packet: PacketWindows, points: Sequence[Passed]) -> Iterator[SentAgain]:
    """Yield what the ends of a packet's connection sent again, by the sender's clock."""
    for kernel in packet.kernels:
        at = next((point for point in points if point.clock == kernel.clock), None)
        ahead_ns = 0 if at is None else at.time_ns - at.own_ns
        for each in kernel.again:
            first_ns = None if each.first_ns is None else each.first_ns + ahead_ns
            yield replace(each, time_ns=each.time_ns + ahead_ns, first_ns=first_ns)


def _passed(
    read: TrialPackets, stations: Sequence[Station], lab: str
) -> Iterator[tuple[tuple[int, int], tuple[int, list[Passed]]]]:
    """Yield when each packet was due and passed each point, by its probe and sequence number.

    If connections were opened for packets, their beginning is the first point of each: of one that
    needed none the same as the next. Packets that not all points saw are left out.
    """
    answered, clocks = read.answered, read.alignment.clocks
    by = [_by(read.trial, station, lab) for station in stations]
    clock = [clocks.get(station, read.alignment.sender) for station in stations]
    times = [answered.stations[station].times.to_list() for station in stations]
    own = [answered.stations[station].as_stamped.to_list() for station in stations]
    handshakes = _has_handshakes(read, stations)
    scheduled = answered.scheduled.select("probe", "seq", "intended_ns", "sent_ns").iter_rows()
    for (probe, seq, due_ns, sent_ns), at_ns, own_ns in zip(
        scheduled, zip(*times, strict=True), zip(*own, strict=True), strict=True
    ):
        if None in at_ns or list(at_ns) != sorted(at_ns):
            continue
        points = [
            Passed(time_ns=when, own_ns=by_own, clock=whose, by=who)
            for when, by_own, whose, who in zip(at_ns, own_ns, clock, by, strict=True)
        ]
        if handshakes:
            first = points[0]
            early_ns = max(0, first.own_ns - sent_ns)
            opened = replace(
                first, time_ns=first.time_ns - early_ns, own_ns=first.own_ns - early_ns
            )
            points.insert(0, opened)
        yield (probe, seq), (min(due_ns, points[0].time_ns), points)


def _has_handshakes(read: TrialPackets, stations: Sequence[Station]) -> bool:
    """Return True if connections were opened for some packets before their first stamp."""
    if not stations or bare(stations[0].point) != PROGRAM:
        return False
    first = read.answered.stations[stations[0]].as_stamped
    return bool((first > read.answered.scheduled["sent_ns"]).any())


def _legs(stations: Sequence[Station]) -> Iterator[frozenset[Leg]]:
    """Yield for each segment between stamps which ends of a TCP connection it depends on.

    That between the two legs ends with the answer; a request has reached the responder's points.
    """
    for start, end in pairwise(stations):
        if start.leg == end.leg:
            yield frozenset({Leg(start.leg)})
        else:
            yield frozenset({Leg.REPLY}) if role(start.point) == RESPONDER else BOTH


def _by(trial: TrialRecord, station: Station, lab: str) -> frozenset[int | str] | None:
    """Return the part of the lab whose program stamps at a point; None if the kernel does."""
    place = trial.places.get(station.point)
    return frozenset({part_of(place.at, lab)}) if place and bare(station.point) == PROGRAM else None


def _names(read: TrialPackets, stations: Sequence[Station]) -> list[str]:
    """Return the layers between neighbouring points, with their directions."""
    layers: Mapping[tuple[str, str, str], str] = {
        (each.leg, each.start, each.end): f"{each.direction} {each.layer}"
        for each in read.segments()
    }
    found = []
    for start, end in pairwise(stations):
        leg = start.leg if start.leg == end.leg else "turn"
        usual = f"{start.point} to {end.point}"
        found.append(layers.get((leg, start.point, end.point), usual))
    return found
