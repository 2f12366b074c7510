"""Verdicts on links: whether the engine kept the conditions, by its own counts and lateness.

They cover all frames. No tables are read, so that the command line can judge a running lab's links
at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from delaylab.records.links import CpuNoise, Direction, EngineReport, Underlay
from delaylab.records.underlays import ClosedWay, MeasuredUnderlay
from delaylab.spec.conditions.engine import NOTHING, Rate
from delaylab.verdicts.downtimes import LinkDowntime, not_up
from delaylab.verdicts.lateness import Lateness, lateness
from delaylab.verdicts.shares import ShareCheck, check_share, expected_loss

MEDIAN_LATE_NS, MEDIAN_OF = 100_000, 20
P99_LATE_NS, P99_OF = 1_000_000, 100
"""Limits of the lateness (median and p99, in ns) with which a link holds its delay, and the
smallest number of frames to which each applies (docs/links.md)."""
RATE_OFF = 0.01
RATED_FRAMES, RATED_NS = 50, 1_000_000_000
"""Smallest number of frames, and shortest time in ns, over which a rate is judged."""


SHORT_SHARE = 0.01
"""Largest share of frames whose delay may be shorter than that of the network between machines: as
of `P99_LATE_NS`, one in 100."""
LOST_SHARE = 0.01
"""Largest share of pings, or of probes during a trial, that the network between machines may
lose."""
MOVED_NS = MEDIAN_LATE_NS
"""Largest difference, in ns, between the one-way delay of the network between machines during a
trial and the one that is subtracted: it moves a link's delay as lateness does."""
PROBES_OF = P99_OF
"""Smallest number of probes during a trial that replace the pings of `up`."""
DURING, ENDED = "during the trial", "when the trial ended"
"""The times at which a trial measures the network between machines, and tries the ways there."""


@dataclass(frozen=True, slots=True)
class RateCheck:
    """The configured and achieved rate of a link in bit/s, framing included."""

    configured: float
    achieved: float

    @property
    def exceeded(self) -> bool:
        """Return True if the achieved rate is over the configured one by more than `RATE_OFF`."""
        return self.achieved > self.configured * (1 + RATE_OFF)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The verdict on one direction of a link: what was achieved, and reasons why it did not hold.

    `noise` describes the engine's CPU. `shares` has the conditions that are a matter of chance,
    such as `loss` or `duplicate`, beside what happened. `unjudged` names the conditions that cannot
    be judged because the direction's conditions changed during the count. `of_engine` are reasons
    that concern all of the engine's links, `own` those of this direction alone, `of_underlay` those
    of the network between the link's machines. A direction that
    carried no frame has no reason of its engine's, unless the engine is down. `downtimes` are the
    times in which an end of the link was down or silent on purpose, which are no reason. `crossed`
    are the networks between machines that the direction's frames cross, as measured meanwhile.
    `closed` says which ways between machines take none of its frames, whether or not any came.
    `late` is how late its frames are at their receiver, `at_fault` the hosts of the engines with
    reasons.
    """

    host: str
    direction: Direction
    noise: CpuNoise
    shares: dict[str, ShareCheck]
    rate: RateCheck | None
    unjudged: tuple[str, ...]
    of_engine: tuple[str, ...]
    own: tuple[str, ...]
    late: Lateness
    at_fault: tuple[str, ...] = ()
    downtimes: LinkDowntime | None = None
    of_underlay: tuple[str, ...] = ()
    crossed: tuple[MeasuredUnderlay, ...] = ()
    closed: tuple[str, ...] = ()

    @property
    def why(self) -> tuple[str, ...]:
        """Return the engine's reasons and this direction's own why conditions were not kept."""
        return (*self.of_engine, *self.of_direction)

    @property
    def of_direction(self) -> tuple[str, ...]:
        """Return the reasons of this direction: its own, the underlay's, that a way is closed."""
        return (*self.own, *self.of_underlay, *self.closed)

    @property
    def held(self) -> bool:
        """Return True if there is no reason against it."""
        return not self.why

    @property
    def used(self) -> bool:
        """Return True if any frame came, refused ones included."""
        return _used(self.direction)

    @property
    def name(self) -> str:
        """Return the link and the nodes that send, or receive."""
        nodes = ", ".join(self.direction.nodes) or self.direction.node
        return f"link {self.direction.link} {self.direction.preposition} {nodes}"

    @property
    def text(self) -> str:
        """Return the verdict in words."""
        if self.why:
            return f"not held, because {'; '.join(self.why)}"
        return "held" if self.used else "unused"


def _used(direction: Direction) -> bool:
    return direction.entered.frames + direction.dropped.ring > 0


def judge(
    engines: Iterable[EngineReport],
    underlays: Iterable[MeasuredUnderlay] = (),
    when: str = DURING,
    closed: Iterable[ClosedWay] = (),
) -> list[Verdict]:
    """Return a verdict for each node's sending direction, and receiving one if it has conditions.

    `underlays` are the networks between machines as measured since `up`; `when` says when that was.
    `closed` are the ways between machines that did not take the links' frames then.
    """
    engines, underlays, closed = list(engines), list(underlays), list(closed)
    downtimes = not_up(engines)
    reasons = {engine.host: tuple(engine_reasons(engine)) for engine in engines}
    return [
        replace(
            _judge(
                engine,
                direction,
                lateness(engine, direction, engines, _known(crossed)),
                reasons,
                downtimes.get(direction.link),
                crossed,
                when=when,
            ),
            closed=tuple(
                closed_way.why(ENDED if when == DURING else when)
                for closed_way in _closed(engine, direction, closed)
            ),
        )
        for engine in engines
        for direction in engine.of_nodes
        for crossed in [_crossed(engine, direction, underlays)]
    ]


def _crossed(
    engine: EngineReport, direction: Direction, underlays: Iterable[MeasuredUnderlay]
) -> tuple[MeasuredUnderlay, ...]:
    """Return the networks between machines that a node's frames cross: those from its machine."""
    if direction.receives:
        return ()
    return tuple(
        underlay
        for underlay in underlays
        if engine.host in underlay.hosts and direction.link in underlay.links
    )


def _closed(
    engine: EngineReport, direction: Direction, closed: Iterable[ClosedWay]
) -> Iterator[ClosedWay]:
    """Yield the ways between machines that did not take what a node sends."""
    if not direction.receives:
        for each in closed:
            if engine.host in each.hosts and direction.link in each.links:
                yield each


def engine_reasons(engine: EngineReport) -> Iterator[str]:
    """Yield the reasons that concern an engine, and so all of its links."""
    if not engine.running:
        yield f"the link engine of host {engine.host} is down: {engine.why}"
    if engine.pauses.count:
        times = "once" if engine.pauses.count == 1 else f"{engine.pauses.count} times"
        longest = f"for {engine.pauses.longest_ns / 1e6:.1f} ms at most"
        why = "throttled, or CPU short" if engine.realtime else "no real-time scheduling"
        yield f"the link engine of host {engine.host} paused {times}, {longest} ({why})"
    if engine.dropped_ring:
        missed = f"missed {engine.dropped_ring} frames (CPU short)"
        yield f"the link engine of host {engine.host} {missed}"


def _judge(
    engine: EngineReport,
    direction: Direction,
    late: Lateness,
    reasons: dict[str, tuple[str, ...]],
    downtimes: LinkDowntime | None,
    crossed: tuple[MeasuredUnderlay, ...],
    *,
    when: str,
) -> Verdict:
    shares = dict(_shares(direction))
    rate = _rate(direction)
    why = [*_dropped(direction, downtimes), *_late(late, engine.cpu_noise)]
    for each in late.passing:
        at = f" at host {each.host}"
        why += [f"{reason}{at}" for reason in _dropped(each.direction, downtimes)]
    why += [check.text(name) for name, check in shares.items() if not check.agrees]
    if rate is not None and rate.exceeded:
        why.append(
            f"{rate.achieved / 1e6:.3f} Mbit/s passed; {rate.configured / 1e6:.3f} are configured"
        )
    unjudged = () if direction.steady else tuple(_counted(direction))
    used = _used(direction)
    hosts = [engine.host, *(each.host for each in late.passing)] if used else []
    if not engine.running:
        hosts = [engine.host]
    at_fault = tuple(host for host in hosts if reasons[host])
    return Verdict(
        host=engine.host,
        direction=direction,
        noise=engine.cpu_noise,
        shares=shares,
        rate=rate,
        unjudged=unjudged,
        of_engine=tuple(reason for host in at_fault for reason in reasons[host]),
        own=tuple(why),
        late=late,
        at_fault=at_fault,
        downtimes=downtimes,
        of_underlay=tuple(_of_underlay(direction, crossed, when)) if used else (),
        crossed=crossed,
    )


def _dropped(direction: Direction, downtimes: LinkDowntime | None) -> Iterator[str]:
    dropped = direction.dropped
    if dropped.ring:
        yield f"{dropped.ring} frames were beyond its share of the engine's ring (a flood)"
    if dropped.oversize:
        yield f"{dropped.oversize} frames were longer than the MTU (an offload is on)"
    if dropped.memory:
        yield f"{dropped.memory} frames found no memory left"
    if dropped.interface:
        yield f"{dropped.interface} frames were refused by the interface that they leave by"
    if direction.port_dropped:
        yield f"{direction.port_dropped} frames found the queue of {direction.port} full"
    if dropped.down and downtimes is None:
        yield f"{dropped.down} frames met an interface that was down"


def _late(late: Lateness, noise: CpuNoise) -> Iterator[str]:
    median_ns, p99_ns = late.p50_ns, late.p99_ns
    if late.count >= MEDIAN_OF and median_ns is not None and median_ns > MEDIAN_LATE_NS:
        yield f"median lateness of its frames {median_ns / 1000:.0f} µs{late.parts}"
    elif late.count >= P99_OF and p99_ns is not None and p99_ns > P99_LATE_NS:
        yield f"p99 lateness of its frames {p99_ns / 1000:.0f} µs{_blame(noise)}"


def _of_underlay(
    direction: Direction, crossed: Iterable[MeasuredUnderlay], when: str
) -> Iterator[str]:
    """Yield what the network between machines adds that is no condition of the link.

    What was measured since `up` replaces its pings.
    """
    underlay = direction.underlay
    if underlay is not None:
        yield from _short(direction, underlay)
    known = _known(crossed)
    for each in known:
        yield from _since_up(direction, each, when)
    if underlay is not None and not known:
        yield from _varied(underlay.p99_rtt_ns - underlay.least_rtt_ns, "its machines")
        if underlay.lost > underlay.sent * LOST_SHARE:
            yield f"the network between its machines lost {underlay.lost} of {underlay.sent} pings"


def _short(direction: Direction, underlay: Underlay) -> Iterator[str]:
    frames, short = direction.entered.frames, direction.short or 0
    if short > frames * SHORT_SHARE:
        yield (
            f"{short} frames had a shorter delay than the {underlay.delay_ns / 1e6:.3f} ms that "
            "the network between its machines takes"
        )


def _known(crossed: Iterable[MeasuredUnderlay]) -> list[MeasuredUnderlay]:
    """Return the networks that have measurements: a firewall may drop all probes of one."""
    return [each for each in crossed if each.sent >= PROBES_OF and each.lost < each.sent]


def _since_up(direction: Direction, measured: MeasuredUnderlay, when: str) -> Iterator[str]:
    """Yield reasons of a network between two machines as it was since `up`."""
    between = f"machines {measured.machine} and {measured.other} {when}"
    least, p1, p99 = measured.least_rtt_ns, measured.p1_rtt_ns, measured.p99_rtt_ns
    underlay = direction.underlay
    if underlay is not None and p1 is not None and _has_delay(direction):
        took_ns = p1 // 2
        if abs(took_ns - underlay.delay_ns) > MOVED_NS:
            yield (
                f"the network between {between} took {took_ns / 1e6:.3f} ms one way, and "
                f"{underlay.delay_ns / 1e6:.3f} ms are subtracted, as measured by `up`"
            )
    if least is not None and p99 is not None:
        yield from _varied(p99 - least, between)
    if measured.lost > measured.sent * LOST_SHARE:
        yield f"the network between {between} lost {measured.lost} of {measured.sent} probes"


def _has_delay(direction: Direction) -> bool:
    """Return True if a delay is configured: one without takes as long as the network."""
    return bool(direction.configured.delay_ns) or direction.configured.trace is not None


def _varied(by_ns: int, between: str) -> Iterator[str]:
    if by_ns > P99_LATE_NS:
        yield (
            f"the network between {between} varies: the p99 of its round trip is "
            f"{by_ns / 1e6:.1f} ms longer than the least"
        )


def _blame(noise: CpuNoise) -> str:
    """Return how much of the lateness the engine's CPU causes, in words, or "" if not known."""
    return f" (wake-up latency of its CPU: {noise.p99_ns / 1000:.0f} µs)" if noise.known else ""


def _shares(direction: Direction) -> Iterator[tuple[str, ShareCheck]]:
    """Yield each configured chance beside what happened, if the conditions never changed."""
    configured = direction.configured
    # No chance decides about a frame of an end that is not up.
    vanished = direction.dropped.down if direction.downtimes else 0
    frames = direction.entered.frames - vanished
    if frames <= 0 or not direction.steady:
        return
    if configured.loss is not None:
        yield "loss", expected_loss(configured.loss).check(direction.dropped.loss, frames)
    # A frame that is lost or finds the queue full is neither duplicated nor corrupted.
    dropped = direction.dropped
    passed = frames - dropped.loss - dropped.queue - dropped.early
    counts = (
        ("duplicate", configured.duplicate, direction.duplicated),
        ("corrupt", configured.corrupt, direction.corrupted),
    )
    for name, share, count in counts:
        if share is not None and passed > 0 and count is not None:
            yield name, check_share(share, count, passed)


def _counted(direction: Direction) -> Iterator[str]:
    """Yield the conditions, now or at the start of the count, that are judged by counts."""
    named = {*direction.configured.named, *(direction.configured_first or NOTHING).named}
    yield from (name for name in ("loss", "duplicate", "corrupt", "rate") if name in named)


def _rate(direction: Direction) -> RateCheck | None:
    configured, rate = direction.configured, direction.configured.rate
    first, last, frames = direction.first_out_ns, direction.last_out_ns, direction.left.frames
    changes = not direction.steady or configured.trace is not None
    if rate is None or changes or not (first and last):
        return None
    span = last - first
    if frames < RATED_FRAMES or span < RATED_NS:
        return None
    mean = max(direction.left.bytes / frames + rate.overhead_bytes, rate.minimum_bytes)
    # The span is from the end of the first frame to the end of the last: all frames but the first.
    return RateCheck(_passed_bps(rate, mean), (frames - 1) * mean * 8e9 / span)


def _passed_bps(rate: Rate, size: float) -> float:
    """Return the highest rate of frames of a size, in bit/s.

    A budget of bytes lets whole frames pass while a byte of it is left.
    """
    if rate.refills is None:
        return rate.bps
    budget = rate.bps / 8 / rate.refills
    return math.ceil(budget / size) * size / budget * rate.bps
