"""Whether a link engine did what was asked of it, by its own counts and lateness for all frames.

Reads no tables: the command line judges a running lab's links by it, at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from delaylab.analysis.chances import ShareCheck, check_share, expected_loss
from delaylab.records.links import Direction, Engine, Floor

MEDIAN_LATE_NS, MEDIAN_OF = 100_000, 20
P99_LATE_NS, P99_OF = 1_000_000, 100
"""A link holds its delay if the engine is no later than this, and of how many frames on that is
asked (docs/links.md)."""
RATE_OFF = 0.01
RATED_FRAMES, RATED_NS = 50, 1_000_000_000
"""A rate is judged where so many frames passed over so long a time."""
OVERHEAD, MINIMUM = 24, 84
"""Of Ethernet, in bytes: what the engine counts where a rate does not say."""


@dataclass(frozen=True, slots=True)
class RateCheck:
    """A rate in bit/s, framing included; `exceeded`: more passed than may."""

    asked: float
    achieved: float

    @property
    def exceeded(self) -> bool:
        """Whether more passed than was asked."""
        return self.achieved > self.asked * (1 + RATE_OFF)


@dataclass(frozen=True, slots=True)
class Verdict:
    """One direction of a link: what was done, and why it was not what was asked.

    `floor`: of its engine's CPU. `shares`: those asked by a chance, as `loss` or `duplicate`,
    beside what happened.
    """

    host: str
    direction: Direction
    floor: Floor
    shares: dict[str, ShareCheck]
    rate: RateCheck | None
    of_engine: tuple[str, ...]
    own: tuple[str, ...]

    @property
    def why(self) -> tuple[str, ...]:
        """All that speaks against it: what befell the engine, and what this direction alone."""
        return (*self.of_engine, *self.own)

    @property
    def held(self) -> bool:
        """Whether nothing speaks against it."""
        return not self.why

    @property
    def used(self) -> bool:
        """Whether any frame came."""
        return self.direction.entered.frames + self.direction.dropped.ring > 0

    @property
    def name(self) -> str:
        """The link and who sends."""
        nodes = ", ".join(self.direction.nodes) or self.direction.node
        return f"link {self.direction.link} from {nodes}"

    @property
    def text(self) -> str:
        """The verdict in words."""
        if self.why:
            return f"not held, because {'; '.join(self.why)}"
        return "held" if self.used else "unused"


def judge(engines: Iterable[Engine]) -> list[Verdict]:
    """Return a verdict for each direction that a node sends in."""
    return [
        _judge(engine, direction, tuple(engine_reasons(engine)))
        for engine in engines
        for direction in engine.directions
        if direction.node is not None
    ]


def engine_reasons(engine: Engine) -> Iterator[str]:
    """Yield what went wrong with an engine, and so with all its links."""
    if engine.state != "running":
        yield f"the engine of {engine.host} is down: {engine.why}"
    if engine.pauses.count:
        times = f"{engine.pauses.count} time" + "s" * (engine.pauses.count != 1)
        longest = f"for {engine.pauses.longest_ns / 1e6:.1f} ms at most"
        why = "throttled, or CPU short" if engine.realtime else "no real-time scheduling"
        yield f"the engine of {engine.host} stood still {times}, {longest} ({why})"
    if engine.dropped_ring:
        yield f"the engine of {engine.host} missed {engine.dropped_ring} frames (CPU short)"


def _judge(engine: Engine, direction: Direction, of_engine: tuple[str, ...]) -> Verdict:
    shares = dict(_shares(direction))
    rate = _rate(direction)
    why = [*_dropped(direction), *_late(direction, engine.floor)]
    why += [check.text(name) for name, check in shares.items() if not check.agrees]
    if rate is not None and rate.exceeded:
        why.append(f"{rate.achieved / 1e6:.3f} Mbit/s passed of {rate.asked / 1e6:.3f} asked")
    return Verdict(engine.host, direction, engine.floor, shares, rate, of_engine, tuple(why))


def _dropped(direction: Direction) -> Iterator[str]:
    dropped = direction.dropped
    if dropped.ring:
        yield f"{dropped.ring} frames were beyond its share of the engine's ring (a flood)"
    if dropped.oversize:
        yield f"{dropped.oversize} frames were longer than the MTU (an offload is on)"
    if dropped.memory:
        yield f"{dropped.memory} frames found no memory left"
    if dropped.interface:
        yield f"{dropped.interface} frames were refused by the interface behind"
    if direction.port_dropped:
        yield f"{direction.port_dropped} frames found the queue of {direction.port} full"
    if dropped.down:
        yield f"{dropped.down} frames met an interface that was down"


def _late(direction: Direction, floor: Floor) -> Iterator[str]:
    late = direction.late
    if late.count >= MEDIAN_OF and late.p50_ns is not None and late.p50_ns > MEDIAN_LATE_NS:
        yield f"half of its frames were more than {late.p50_ns / 1000:.0f} µs late"
    elif late.count >= P99_OF and late.p99_ns is not None and late.p99_ns > P99_LATE_NS:
        yield f"one frame in 100 was more than {late.p99_ns / 1000:.0f} µs late{_blame(floor)}"


def _blame(floor: Floor) -> str:
    """Tell how much of it the CPU is to blame for, whoever has it."""
    return f" (its CPU itself: {floor.p99_ns / 1000:.0f} µs)" if floor.known else ""


def _shares(direction: Direction) -> Iterator[tuple[str, ShareCheck]]:
    """Yield each chance that was asked beside what came of it; only where it was the same."""
    frames, asked = direction.entered.frames, direction.asked
    if not frames or not direction.steady:
        return
    if "loss" in asked:
        yield "loss", expected_loss(asked["loss"]).check(direction.dropped.loss, frames)
    # What is lost or finds the queue full is neither duplicated nor corrupted.
    dropped = direction.dropped
    passed = frames - dropped.loss - dropped.queue - dropped.early
    for name, count in (("duplicate", direction.duplicated), ("corrupt", direction.corrupted)):
        if name in asked and passed > 0 and count is not None:
            yield name, check_share(asked[name], count, passed)


def _rate(direction: Direction) -> RateCheck | None:
    asked: dict[str, Any] = direction.asked.get("rate", {})
    first, last, frames = direction.first_out_ns, direction.last_out_ns, direction.left.frames
    if not asked or not direction.steady or "trace" in direction.asked or not (first and last):
        return None
    span = last - first
    if frames < RATED_FRAMES or span < RATED_NS:
        return None
    mean = direction.left.bytes / frames + asked.get("overhead_bytes", OVERHEAD)
    mean = max(mean, asked.get("minimum_bytes", MINIMUM))
    # From the end of the first frame to the end of the last: all but the first.
    return RateCheck(asked["bps"], (frames - 1) * mean * 8e9 / span)
