"""Packets of a ping, judged by evidence on bias as they come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from delaylab.verbs.ping.cleaned import CleanEnd, CleanFound, JudgedMedians, PingSampling
from delaylab.verbs.ping.result import UNDER_WAY, PingPacket
from delaylab.verdicts.bias import BiasEvidence, MeasuredTime, clean_share
from delaylab.verdicts.medians import median_of

NOT_JUDGED = ("refused", UNDER_WAY)
"""Outcomes of packets that are not judged: nothing was sent, or an answer could still come."""


@dataclass(slots=True)
class JudgedPackets:
    """Packets of a ping with the reasons why each may be biased; a clean packet has none of them.

    The first `asked` packets are those on schedule. The reasons of a packet that the evidence does
    not reach are None.
    """

    evidence: BiasEvidence
    asked: int
    packets: dict[int, PingPacket] = field(default_factory=dict)
    reasons: dict[int, Sequence[str] | None] = field(default_factory=dict)

    def judge(self, packets: Sequence[PingPacket]) -> None:
        """Judge packets by the evidence, which must reach to the ends of their times."""
        for each in packets:
            if is_judged(each):
                self.packets[each.seq] = each
                self.reasons[each.seq] = self.evidence.reasons(measured_time(each))

    @property
    def kept(self) -> int:
        """Return the number of clean packets."""
        return sum(map(self._is_clean, self.packets))

    @property
    def missing(self) -> int:
        """Return the number of clean packets that are still to come."""
        return max(0, self.asked - self.kept)

    def found(
        self, *, repeats: int, budget: int, waited_s: float, ended_by: CleanEnd
    ) -> CleanFound:
        """Return what the packets say, and what was done for it."""
        refused = {seq: why for seq, why in sorted(self.reasons.items()) if why}
        return CleanFound(
            rule=self.evidence.rule,
            asked=self.asked,
            kept=self.kept,
            unknown=sum(reasons is None for reasons in self.reasons.values()),
            refused=refused,
            taken_ns={seq: self._taken_ns(seq) for seq in refused},
            biased_share=self._biased_share(),
            less_waits=self._less_waits(),
            user=self._medians({seq: each.rtt_user_ns for seq, each in self.packets.items()}),
            kernel=self._medians({seq: each.rtt_kernel_ns for seq, each in self.packets.items()}),
            sampling=self._sampling(waited_s),
            repeats=repeats,
            budget=budget,
            ended_by=ended_by,
        )

    def _less_waits(self) -> JudgedMedians | None:
        """Return the medians of what round trips took without waits here; None if none is known."""
        known = {
            seq: (each.rtt_user_ns, self.evidence.waited_ns(measured_time(each)))
            for seq, each in self.packets.items()
        }
        trips = {
            seq: None if rtt is None or waited is None else rtt - waited
            for seq, (rtt, waited) in known.items()
        }
        found = self._medians(trips)
        return None if found.raw is None else found

    def _taken_ns(self, seq: int) -> Mapping[str, int]:
        return self.evidence.taken_ns(measured_time(self.packets[seq]))

    def _biased_share(self) -> float | None:
        """Return the share of biased packets on schedule; None if no packet of it is judged."""
        judged = [why for seq, why in self.reasons.items() if seq < self.asked and why is not None]
        return sum(map(bool, judged)) / len(judged) if judged else None

    def _is_clean(self, seq: int) -> bool:
        reasons = self.reasons[seq]
        return reasons is not None and not reasons

    def _medians(self, trips: dict[int, int | None]) -> JudgedMedians:
        known = {seq: rtt for seq, rtt in sorted(trips.items()) if rtt is not None}
        clean = {seq: rtt for seq, rtt in known.items() if self._is_clean(seq)}
        return JudgedMedians(
            clean=median_of(list(clean.values())),
            raw=median_of([rtt for seq, rtt in known.items() if seq < self.asked]),
            clean_on_schedule=median_of([rtt for seq, rtt in clean.items() if seq < self.asked]),
            clean_repeats=median_of([rtt for seq, rtt in clean.items() if seq >= self.asked]),
        )

    def _sampling(self, waited_s: float) -> PingSampling:
        first = min((measured_time(each).sent_ns for each in self.packets.values()), default=None)
        span = self.evidence.span_ns
        if first is None or span is None:
            return PingSampling(seconds=0.0, waited_s=waited_s, clean_share_of_time=None)
        until_ns = max(first, span[1])
        return PingSampling(
            seconds=(until_ns - first) / 1e9,
            waited_s=waited_s,
            clean_share_of_time=clean_share(self.evidence, first, until_ns),
        )


def is_judged(packet: PingPacket) -> bool:
    """Return True for a packet that was sent and whose fate is known."""
    return packet.outcome not in NOT_JUDGED and packet.sent_ns is not None


def measured_time(packet: PingPacket) -> MeasuredTime:
    """Return the time that a packet depends on; that of a request begins with its connection."""
    asked_ns = packet.sent_ns or 0
    sent_ns = asked_ns - packet.opening_ns
    due_ns = sent_ns - max(0, packet.slip_ns or 0)
    return MeasuredTime(due_ns, sent_ns, asked_ns + (packet.rtt_user_ns or 0))
