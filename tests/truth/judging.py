"""Causes that were named, beside those that were injected."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from delaylab.causes.explained import Explained
from delaylab.causes.walk import Cause
from delaylab.verbs.ping.late import LATE_NS
from delaylab.verbs.ping.result import PingPacket
from delaylab.verbs.ping.why import took_of
from tests.truth.cases import Case
from tests.truth.scene import Pairs, Seen

MOSTLY = 0.8
"""The share of a packet's excess that an injection must cover to be its cause."""
BLAMED_NS = 100_000
"""The share from which on a packet that nothing was injected into counts as blamed."""


@dataclass(slots=True)
class Judged:
    """Counts of the packets of one case: those that were late by it, and the others.

    `within` are those whose size is right within max(20 µs, 10 %); `named` says what was named for
    each. `others` were late without it, `quiet` are usual packets; `blamed` of both have a share of
    it all the same.
    """

    late: int = 0
    right: int = 0
    errors_ns: list[int] = field(default_factory=list)
    within: int = 0
    named: Counter[str] = field(default_factory=Counter)
    excess_ns: int = 0
    unknown_ns: int = 0
    others: int = 0
    quiet: int = 0
    blamed: int = 0

    def add(self, other: Judged) -> None:
        """Add the packets of another run."""
        self.late += other.late
        self.right += other.right
        self.errors_ns += other.errors_ns
        self.within += other.within
        self.named += other.named
        self.excess_ns += other.excess_ns
        self.unknown_ns += other.unknown_ns
        self.others += other.others
        self.quiet += other.quiet
        self.blamed += other.blamed


def judge(case: Case, seen: Seen) -> Judged:
    """Return how the causes that were named compare with the injector's own log."""
    found = Judged()
    packets = {each.seq: each for each in seen.packets}
    median = statistics.median(filter(None, map(took_of, seen.packets)))
    spans = [*seen.injected, *seen.doubtful]
    first, last = min(start for start, _ in spans), max(end for _, end in spans)
    for each in seen.explained:
        packet = packets[each.seq]
        span = _span(packet)
        if not first <= span[0] <= last or _overlap_ns(span, seen.doubtful):
            continue
        excess_ns = round((took_of(packet) or 0) - median)
        size_ns = min(excess_ns, _overlap_ns(span, seen.injected))
        if excess_ns < LATE_NS or 0 < size_ns < MOSTLY * excess_ns:
            continue
        if not size_ns:
            found.others += 1
            found.blamed += _blame_ns(case, each) >= BLAMED_NS
            continue
        top = each.top
        right = top is not None and case.blames(top, each)
        error_ns = abs(_blame_ns(case, each) - size_ns)
        found.late += 1
        found.right += right
        found.errors_ns.append(error_ns)
        found.within += error_ns <= max(20_000, size_ns // 10)
        found.named["right" if right else top.cause.value if top else "nothing"] += 1
        found.excess_ns += each.excess_ns
        found.unknown_ns += max(0, each.by_cause.get(Cause.UNKNOWN, 0))
    for each in seen.quiet:
        if not _overlap_ns(_span(packets[each.seq]), [*seen.injected, *seen.doubtful]):
            found.quiet += 1
            found.blamed += _blame_ns(case, each) >= BLAMED_NS
    return found


def _blame_ns(case: Case, found: Explained) -> int:
    return sum(share.ns for share in found.shares if case.blames(share, found))


def _span(packet: PingPacket) -> tuple[int, int]:
    sent_ns = packet.sent_ns or 0
    return sent_ns - max(0, packet.slip_ns or 0), sent_ns + (packet.rtt_user_ns or 0)


def _overlap_ns(span: tuple[int, int], injected: Pairs) -> int:
    start, end = span
    return sum(max(0, min(end, until) - max(start, since)) for since, until in injected)


def quantile_us(values: Sequence[int], share: float) -> float:
    """Return a quantile of times in ns, in µs."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] / 1e3 if ordered else 0.0


def total(each: Iterable[Judged]) -> Judged:
    """Return the packets of several runs together."""
    found = Judged()
    for one in each:
        found.add(one)
    return found
