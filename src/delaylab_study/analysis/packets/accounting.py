"""Account of every scheduled packet: its fate by phase and leg, and the points that saw it.

A packet is lost on the leg on which a point saw it last. Copies beyond a packet's first are counted
by the taps, and by the sender among its replies. A packet is reordered on a leg if it reached the
leg's last point behind one that had passed the first point after it (RFC 4737).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from delaylab.api.points import AT_SERVICE, SOCKET_POINTS, bare, role
from delaylab_study.analysis.clocks.stations import Station
from delaylab_study.analysis.clocks.when_seen import when_seen
from delaylab_study.analysis.packets.table import Packets, stations_of
from delaylab_study.analysis.packets.trial import TrialPackets
from delaylab_study.dataset.records.trial import TrialRecord
from delaylab_study.dataset.records.ways import Way

UNTAPPED = "untapped"
PHASES = (UNTAPPED, "before", "load", "again", "after")
REQUEST, REPLY = "request", "reply"


@dataclass(frozen=True, slots=True)
class ByLeg:
    """The number of packets by the leg on which they were lost, duplicated or reordered.

    `unknown` counts those for which no point tells the leg.
    """

    request: int = 0
    reply: int = 0
    unknown: int = 0

    @property
    def total(self) -> int:
        """Return the number on both legs and on an unknown one."""
        return self.request + self.reply + self.unknown

    def __add__(self, other: ByLeg) -> ByLeg:
        """Return the sums leg by leg."""
        return ByLeg(
            self.request + other.request, self.reply + other.reply, self.unknown + other.unknown
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseAccount:
    """Fates of the packets of one phase.

    Each of the `scheduled` packets is `answered` in time, answered too `late`, `lost`, answered by
    what is no reply (`mismatched`), `refused` by the sender's kernel, or `unsent`. Beside that,
    `duplicated` counts copies beyond a packet's first, and `reordered` packets that others
    overtook.
    """

    phase: str
    scheduled: int
    answered: int
    late: int
    lost: ByLeg
    refused: int
    unsent: int
    duplicated: ByLeg
    reordered: ByLeg
    mismatched: int = 0

    @property
    def sent(self) -> int:
        """Return the number of packets that the sender's kernel took."""
        return self.scheduled - self.refused - self.unsent

    def __add__(self, other: PhaseAccount) -> PhaseAccount:
        """Return the account of both together; they are of the same phase."""
        return PhaseAccount(
            phase=self.phase,
            scheduled=self.scheduled + other.scheduled,
            answered=self.answered + other.answered,
            late=self.late + other.late,
            lost=self.lost + other.lost,
            refused=self.refused + other.refused,
            unsent=self.unsent + other.unsent,
            duplicated=self.duplicated + other.duplicated,
            reordered=self.reordered + other.reordered,
            mismatched=self.mismatched + other.mismatched,
        )


@dataclass(frozen=True, slots=True)
class PointAccount:
    """Counts of the scheduled packets at one point of one leg; the three counts sum to all packets.

    `seen` packets were stamped here. `unseen` packets passed without a stamp here: a later point
    stamped them. `lost` packets were lost before this point. Packets are those of `way`, which is
    "" if there is only one.
    """

    leg: str
    point: str
    seen: int
    unseen: int
    lost: int
    way: str = ""


@dataclass(frozen=True, slots=True)
class Account:
    """Counts of the scheduled packets by outcome, by point, and by the last point that saw them.

    `lost_after` names the way with the point if there are several. `unsent_replies` are answered
    packets beyond the echo replies that the responder's kernel sent; 0 if it did not count them.
    """

    scheduled: int
    outcomes: dict[str, int]
    points: list[PointAccount]
    lost_after: dict[str, int]
    absent: dict[str, str]
    responder_dropped: int
    unsent_replies: int = 0


NOWHERE = "scheduled, never seen"
ANSWERED = ("replied", "late")


def account(packets: Packets, trials: list[TrialRecord]) -> Account:
    """Account at every point for every scheduled packet, one row each; trials share one way."""
    way = trials[0].way
    stations = stations_of(way)
    last = last_seen(packets, way)
    lost = last.filter(last < len(stations) - 1)
    labels = [NOWHERE, *map(str, stations)]
    counts = lost.value_counts(name="n").sort(lost.name)
    return Account(
        scheduled=len(packets),
        outcomes=dict(packets.scheduled["outcome"].value_counts().sort("outcome").iter_rows()),
        points=[_at(packets, at, last, index) for index, at in enumerate(stations)],
        lost_after={labels[where + 1]: n for where, n in counts.iter_rows()},
        absent=dict(trials[0].absent),
        responder_dropped=sum(t.responder_icmp.get("OutErrors", 0) for t in trials),
        unsent_replies=_unsent_replies(packets.scheduled, trials),
    )


def _unsent_replies(packets: pl.DataFrame, trials: list[TrialRecord]) -> int:
    """Return by how many the answered packets are more than the responder's echo replies.

    The responder may have answered others, too, so that not every forged reply is seen by this.
    """
    sent = [t.echo_replies for t in trials]
    if None in sent:
        return 0
    answered = int(packets["outcome"].is_in(ANSWERED).sum())
    return max(0, answered - sum(each for each in sent if each is not None))


def of_ways(whole: Account, ways: Mapping[str, Account], unknown: Sequence[Account]) -> Account:
    """Return the account of all packets, with points and losses of each way apart.

    `whole` is of all packets at the points that ways share, `unknown` of those without a way.
    """
    lost_after = {
        f"{point} ({way})": n
        for way, account in ways.items()
        for point, n in account.lost_after.items()
    }
    for account in unknown:
        for point, n in account.lost_after.items():
            lost_after[point] = lost_after.get(point, 0) + n
    points = [replace(point, way=way) for way, account in ways.items() for point in account.points]
    return replace(whole, points=points, lost_after=lost_after)


def last_seen(packets: Packets, way: Way) -> pl.Series:
    """Return the position in the way of the last point that saw each packet, -1 for none."""
    last = np.full(len(packets), -1, dtype=np.int32)
    for index, station in enumerate(stations_of(way)):
        last[packets.stations[station].seen.to_numpy()] = index
    return pl.Series("last", last)


def _at(packets: Packets, station: Station, last: pl.Series, index: int) -> PointAccount:
    seen = len(packets) - packets.stations[station].times.null_count()
    passed = int((last >= index).sum())
    lost = len(packets) - passed
    return PointAccount(station.leg, station.point, seen, passed - seen, lost)


def by_phase(trials: Sequence[TrialPackets]) -> list[PhaseAccount]:
    """Return the account of the packets of some trials, phase by phase."""
    found: dict[str, PhaseAccount] = {}
    for each in trials:
        packets = each.packets.as_stamped
        for phase in PHASES:
            here = packets.of(phase)
            if len(here):
                account = _of_phase(each.trial, phase, here)
                found[phase] = found[phase] + account if phase in found else account
    return [found[phase] for phase in PHASES if phase in found]


def _of_phase(trial: TrialRecord, phase: str, packets: Packets) -> PhaseAccount:
    outcomes = dict(packets.scheduled["outcome"].value_counts().iter_rows())
    way = _recorded(trial, phase)
    return PhaseAccount(
        phase=phase,
        scheduled=len(packets),
        answered=outcomes.get("replied", 0),
        late=outcomes.get("late", 0),
        lost=_lost(packets.filter(pl.col("outcome") == "lost"), way, trial),
        refused=outcomes.get("refused", 0),
        unsent=outcomes.get("unsent", 0),
        duplicated=_duplicated(packets.scheduled, trial, phase),
        reordered=_reordered(packets, way),
        mismatched=outcomes.get("mismatched", 0),
    )


def _recorded(trial: TrialRecord, phase: str) -> Way:
    """Return the points that recorded in a phase: while the taps are off, only the sockets'."""
    if phase != UNTAPPED:
        return trial.way
    taps = {tap.point for tap in trial.taps}
    legs = (
        [point for point in leg if bare(point) in SOCKET_POINTS and point not in taps]
        for leg in (trial.way.request, trial.way.reply)
    )
    return Way(**dict(zip((REQUEST, REPLY), legs, strict=True)))


def _lost(lost: Packets, way: Way, trial: TrialRecord) -> ByLeg:
    """Return lost packets by leg.

    One that was last seen at the end of the request's points is lost on the reply's leg if that end
    is the responder itself; else nothing tells. Where taps dropped stamps, a point that did not see
    a packet proves nothing.
    """
    last, end = last_seen(lost, way), len(way.request) - 1
    last_point = way.request[-1] if way.request else ""
    arrived = last_point == AT_SERVICE or _is_socket_of("responder", last_point)
    reply = int((last > end).sum()) + (int((last == end).sum()) if arrived else 0)
    complete = not any(tap.dropped for tap in trial.taps)
    request = int(((last >= 0) & (last < end)).sum()) if complete else 0
    return ByLeg(request, reply, len(lost) - request - reply)


def _duplicated(packets: pl.DataFrame, trial: TrialRecord, phase: str) -> ByLeg:
    """Return copies by leg. Each copy of a request is answered, which makes no copy of the reply.

    Without the taps' counts nothing tells on which leg a further reply was made.
    """
    further = int(packets["duplicates"].sum())
    if trial.repeats is None or phase == UNTAPPED:
        return ByLeg(unknown=further)
    seen = {(str(r.leg), r.point): r.packets for r in trial.repeats if r.phase == phase}
    taps = {tap.point for tap in trial.taps}
    there = [seen.get((REQUEST, point), 0) for point in trial.way.request if point in taps]
    back = [seen.get((REPLY, point), 0) for point in trial.way.reply if point in taps]
    if not there and not back:
        return ByLeg(unknown=further)
    answered_twice = min([*there[-1:], *back[:1]])
    return ByLeg(max(there, default=0), max(0, max([further, *back]) - answered_twice))


def _reordered(packets: Packets, way: Way) -> ByLeg:
    """Return reordered packets by leg; those that only the sender noticed have none."""
    request = _overtaken(packets, REQUEST, way.request)
    reply = _overtaken(packets, REPLY, way.reply)
    noticed = packets.scheduled["reordered"].to_numpy() & ~request & ~reply
    return ByLeg(int(request.sum()), int(reply.sum()), int(noticed.sum()))


def _overtaken(packets: Packets, leg: str, points: list[str]) -> NDArray[np.bool_]:
    """Return for each packet whether another one overtook it between a leg's first and last point.

    A leg of which only the sender's sockets saw anything tells nothing.
    """
    overtaken = np.zeros(len(packets), dtype=np.bool_)
    if all(_is_socket_of("sender", point) for point in points):
        return overtaken
    ends = (packets.stations[Station(leg, point)].times for point in (points[0], points[-1]))
    (by_first, first), (by_last, last) = map(when_seen, ends)
    rows = np.flatnonzero(by_first & by_last)
    left = np.argsort(np.argsort(first[rows], kind="stable"))
    arrived = np.argsort(last[rows], kind="stable")
    latest = np.maximum.accumulate(left[arrived])
    overtaken[rows[arrived]] = left[arrived] < latest
    return overtaken


def _is_socket_of(side: str, point: str) -> bool:
    return role(point) == side and bare(point) in SOCKET_POINTS
