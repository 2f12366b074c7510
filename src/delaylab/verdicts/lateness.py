"""Lateness of a link's frames at their receiver: all that delays them beyond the conditions.

A frame of a link between two hosts passes two engines. That of the sender's host delays it, and
that of the receiver's host passes it on at once, which takes time, too. Between two machines there
is also their network, of which only the least delay is part of the link's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from delaylab.records.links import Direction, EngineReport, Late, Underlay
from delaylab.records.underlays import MeasuredUnderlay


@dataclass(frozen=True, slots=True)
class Passing:
    """The engine of a receiving host, and what it did to the frames that came by an uplink."""

    host: str
    direction: Direction


@dataclass(frozen=True, slots=True)
class Lateness:
    """Lateness of a direction's frames, from their arrival in an engine to the last one's release.

    `own` is that of the engine that delays them, `passing` those of the engines of receiving hosts.
    `network_ns` is by how much the network between the link's machines, at the median, takes
    longer than the delay that is subtracted for it; 0 where there is none. Frames to several hosts
    pass one of their engines each: the latest counts.
    """

    own: Late
    passing: tuple[Passing, ...] = ()
    network_ns: int = 0

    @property
    def count(self) -> int:
        """Return the number of frames with a known lateness; 0 with the kernel's queues."""
        return self.own.count

    @property
    def p50_ns(self) -> float | None:
        """Return the median: the sum of the parts' medians. None if it is not known."""
        if not self.own.count or self.own.p50_ns is None:
            return None
        return self.own.p50_ns + self._latest("p50_ns") + self.network_ns

    @property
    def p99_ns(self) -> float | None:
        """Return the sum of both engines' p99, which at most 2 frames in 100 exceed."""
        if not self.own.count or self.own.p99_ns is None:
            return None
        return self.own.p99_ns + self._latest("p99_ns") + self.network_ns

    @property
    def parts(self) -> str:
        """Return the parts of the median in words, or "" if there is only one."""
        own_ns = self.own.p50_ns or 0
        named = [f"its sender's engine {own_ns / 1000:.0f} µs"]
        if self.passing:
            latest = max(self.passing, key=lambda each: each.direction.late.p50_ns or 0)
            passed_ns = latest.direction.late.p50_ns or 0
            named.append(f"the engine of host {latest.host} {passed_ns / 1000:.0f} µs")
        if self.network_ns:
            named.append(f"the network between its machines {self.network_ns / 1000:.0f} µs")
        return f" ({', '.join(named)})" if len(named) > 1 else ""

    def _latest(self, figure: str) -> float:
        lates = (each.direction.late for each in self.passing)
        return max((getattr(late, figure) or 0 for late in lates if late.count), default=0)


def lateness(
    engine: EngineReport,
    direction: Direction,
    engines: Iterable[EngineReport],
    crossed: Iterable[MeasuredUnderlay],
) -> Lateness:
    """Return the lateness of a direction's frames; `crossed` as measured since `up`."""
    if direction.receives:
        # Their lateness counts from when they should have left the sender's direction.
        return Lateness(direction.late)
    passing = tuple(_passing(engine, direction, engines))
    return Lateness(direction.late, passing, _network_ns(direction.underlay, crossed))


def _passing(
    engine: EngineReport, direction: Direction, engines: Iterable[EngineReport]
) -> Iterator[Passing]:
    for other in engines:
        for each in other.directions:
            if other.host != engine.host and each.link == direction.link and each.node is None:
                yield Passing(other.host, each)


def _network_ns(underlay: Underlay | None, crossed: Iterable[MeasuredUnderlay]) -> int:
    """Return by how much the network takes longer, one way, than what is subtracted for it."""
    if underlay is None:
        return 0
    medians = [each.p50_rtt_ns for each in crossed if each.p50_rtt_ns is not None]
    median_ns = max(medians, default=underlay.p50_rtt_ns)
    return 0 if median_ns is None else max(0, median_ns // 2 - underlay.delay_ns)
