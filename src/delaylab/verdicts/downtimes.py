"""Times in which links were down or silent, and the probe's packets that were sent then."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from delaylab.records.links import Direction, Downtime, EngineReport
from delaylab.spec.conditions.engine import DelayTrace


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkDowntime:
    """Times in which ends of a link were not up, and the packets sent then by the probe.

    `spans` are apart and in order, in ns since the Unix epoch, and begin a round trip over the link
    early: a packet that was under way is lost, too. None stands for an end that was not seen.
    `packets`, and `lost` and `late` ones among them, are None if there are no packets of a probe;
    `refused` are those that the sender's kernel did not take.
    """

    link: str
    states: tuple[str, ...]
    total_ns: int
    spans: tuple[tuple[int, int | None], ...]
    packets: int | None = None
    lost: int | None = None
    late: int | None = None
    refused: int = 0

    @property
    def text(self) -> str:
        """Return in words when the link was not up, and what became of the probe's packets."""
        times = "once" if len(self.spans) == 1 else f"{len(self.spans)} times"
        found = f"{' and '.join(self.states)} {times}, for {self.total_ns / 1e9:.3g} s"
        if not self.packets:
            return found
        refused = f", {self.refused} refused by the sender's kernel" if self.refused else ""
        fates = f"{self.lost} lost{refused} and {self.late} late"
        return f"{found}: of {self.packets} packets sent then, {fates}"


def not_up(engines: Iterable[EngineReport]) -> dict[str, LinkDowntime]:
    """Return the links that had downtimes while frames were counted, by name."""
    ends: dict[str, list[tuple[Direction, int | None]]] = {}
    for engine in engines:
        for direction in engine.of_nodes:
            ends.setdefault(direction.link, []).append((direction, engine.now_ns))
    found = {}
    for link, directions in ends.items():
        downtimes = [(each, now) for end, now in directions for each in end.downtimes]
        if downtimes:
            round_trip_ns = sum(_longest_ns(end) for end, _ in directions)
            found[link] = _of_link(link, downtimes, round_trip_ns)
    return found


def _of_link(
    link: str, downtimes: list[tuple[Downtime, int | None]], round_trip_ns: int
) -> LinkDowntime:
    states = tuple(dict.fromkeys(each.state for each, _ in downtimes))
    whole = _union((each.since_ns, each.until_ns, now) for each, now in downtimes)
    total_ns = sum(max(0, (until or now or since) - since) for since, until, now in whole)
    early = _union((since - round_trip_ns, until, now) for since, until, now in whole)
    return LinkDowntime(
        link=link,
        states=states,
        total_ns=total_ns,
        spans=tuple((since, until) for since, until, _ in early),
    )


Span = tuple[int, int | None, int | None]
"""A beginning, an end if it was seen, and the time up to which was looked."""


def _union(spans: Iterable[Span]) -> list[Span]:
    """Return spans that overlap or touch as one, in order."""
    joined: list[Span] = []
    for since, until, now in sorted(spans, key=lambda span: span[0]):
        if joined and (joined[-1][1] is None or since <= joined[-1][1]):
            before = joined[-1]
            ends = None if before[1] is None or until is None else max(before[1], until)
            joined[-1] = (before[0], ends, before[2])
        else:
            joined.append((since, until, now))
    return joined


def _longest_ns(direction: Direction) -> int:
    """Return the longest delay that was configured one way, without jitter."""
    conditions = (direction.configured, direction.configured_first)
    delays = [each.delay_ns or 0 for each in conditions if each is not None]
    traces = [each.trace for each in conditions if each is not None]
    delays += [ns for each in traces if isinstance(each, DelayTrace) for _, ns in each.points]
    return max(delays, default=0)
