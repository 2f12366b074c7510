"""Causes that were named, beside those that were injected."""

from __future__ import annotations

import statistics
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from delaylab.causes.explained import Explained
from delaylab.causes.pieces import Cause
from delaylab.verbs.ping.late import LATE_NS
from delaylab.verbs.ping.result import PingPacket
from delaylab.verbs.ping.why import took_of
from tests.truth.cases import Together
from tests.truth.scene import Log, Pairs, Seen

MOSTLY = 0.8
"""The share of a packet's excess that an injection must cover to be its cause."""
BLAMED_NS = 100_000
"""The share from which on a packet that nothing was injected into counts as blamed."""


SIZES_NS = (100_000, 200_000, 500_000, 1_000_000, 2_000_000, 5_000_000)
"""The bounds of classes of sizes."""


@dataclass(slots=True)
class Judged:
    """Counts of the packets of one case: those that were late by it, and the others.

    `within` are those whose size is right within max(20 µs, 10 %); `named` says what was named for
    each. `others` were late without it, `quiet` are usual packets; `blamed` of both have a share of
    it all the same. `by_size` has all that it delayed, also those that were not late, by the class
    of their size (`SIZES_NS`): how many, and how many were named right.
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
    by_size: Counter[int] = field(default_factory=Counter)
    right_by_size: Counter[int] = field(default_factory=Counter)

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
        self.by_size += other.by_size
        self.right_by_size += other.right_by_size


def judge(cases: Together, seen: Seen) -> Judged:
    """Return how the causes that were named compare with the injectors' own logs."""
    found = Judged()
    packets = {each.seq: each for each in seen.packets}
    median = statistics.median(filter(None, map(took_of, seen.packets)))
    doubtful = [span for log in seen.logs for span in log.doubtful]
    spans = [*doubtful, *(span for log in seen.logs for span in log.injected)]
    first, last = min(start for start, _ in spans), max(end for _, end in spans)
    for each in seen.explained:
        packet = packets[each.seq]
        span = _span(packet)
        if not first <= span[0] <= last or _overlap_ns(span, doubtful):
            continue
        excess_ns = round((took_of(packet) or 0) - median)
        sizes_ns = [_overlap_ns(span, log.injected) for log in seen.logs]
        size_ns = min(excess_ns, _overlap_ns(span, _union(seen.logs)))
        if excess_ns < SIZES_NS[0] or 0 < size_ns < MOSTLY * excess_ns:
            continue
        if not size_ns:
            if excess_ns >= LATE_NS:
                found.others += 1
                found.blamed += blame_ns(cases, each) >= BLAMED_NS
            continue
        top = each.top
        largest = [case for case, ns in zip(cases, sizes_ns, strict=True) if ns == max(sizes_ns)]
        right = top is not None and any(case.blames(top, each) for case in largest)
        of_size = bisect_right(SIZES_NS, size_ns)
        found.by_size[of_size] += 1
        found.right_by_size[of_size] += right
        if excess_ns >= LATE_NS:
            found.late += 1
            found.right += right
            counted_ns = sum(
                share.ns for share in each.shares if any(case.counts(share, each) for case in cases)
            )
            error_ns = abs(counted_ns - size_ns)
            found.errors_ns.append(error_ns)
            found.within += error_ns <= max(20_000, size_ns // 10)
            found.named["right" if right else top.cause.value if top else "nothing"] += 1
            found.excess_ns += each.excess_ns
            found.unknown_ns += max(0, each.by_cause.get(Cause.UNKNOWN, 0))
    for each in seen.quiet:
        if not _overlap_ns(_span(packets[each.seq]), spans):
            found.quiet += 1
            found.blamed += blame_ns(cases, each) >= BLAMED_NS
    return found


def _union(logs: Sequence[Log]) -> Pairs:
    """Return the times at which any of the injectors did something."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(span for log in logs for span in log.injected):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((start, end))
    return found


def blame_ns(cases: Together, found: Explained) -> int:
    """Return what these causes are said to have taken of a packet's excess, in ns."""
    return sum(
        share.ns for share in found.shares if any(case.blames(share, found) for case in cases)
    )


def _span(packet: PingPacket) -> tuple[int, int]:
    sent_ns = packet.sent_ns or 0
    return sent_ns - max(0, packet.slip_ns or 0), sent_ns + (packet.rtt_user_ns or 0)


def took_by_seq(seen: Seen) -> dict[int, int]:
    """Return what each answered packet took, with the time by which it was sent late, in ns."""
    took = {each.seq: took_of(each) for each in seen.packets}
    return {seq: ns for seq, ns in took.items() if ns is not None}


def overlaps(span: tuple[int, int], others: Pairs) -> bool:
    """Return True if a span touches another one."""
    return any(start <= span[1] and span[0] <= end for start, end in others)


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
