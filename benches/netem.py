"""Benchmark of delaylab's own link engine and the kernel's queues, in turn on one kernel."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from statistics import fmean, median, pstdev
from typing import Any, TypeVar

import numpy as np
import polars as pl

from benches.frames import flow
from benches.inside import Bed, Machine, lab_in, machine
from benches.section import Section
from delaylab.agent.binary import kernel_parts
from delaylab.agent.measuring_requests import Tap
from delaylab.agent.session import Session
from delaylab.agent.wire.links import Links
from delaylab.agent.wire.loads import Generate
from delaylab.agent.wire.tapping import TapFilter, TapInterface
from delaylab.lab.start import temporary
from delaylab.records.links import Direction, EngineReport
from delaylab.resolve.resolve import lab_from_data
from delaylab_study.trial.frames import frame

T = TypeVar("T")
NEAR, FAR, LINK = "near", "far", "wan"
ENGINES = ("own", "kernel")
MODULES = (
    "veth",
    "bridge",
    "ifb",
    "act_mirred",
    "cls_u32",
    "sch_ingress",
    "sch_tbf",
    "sch_codel",
    "sch_netem",
)
PORT = 9
SHORT, FULL = 60, 1514
"""Length in bytes of frames without their check sequence: 64 and 1518 on the wire."""
FRAMING, SHORTEST = 24, 84
RATES_BPS = {FULL: 10_000_000, SHORT: 2_000_000}
"""Rates in bit/s that even an emulated machine can exceed, by length of the frames."""
RATED_S = 5
LOST_OF = 21_000
TAIL_S = 2.0


@dataclass(frozen=True)
class Paced:
    """Frames of 100 bytes at a fixed rate over a link with a delay."""

    delay_ms: int
    per_second: int
    jitter_ms: float = 0

    @property
    def title(self) -> str:
        """Return the row's first cell."""
        jitter = f" ± {self.jitter_ms:g} ms (normal)" if self.jitter_ms else ""
        return f"{self.delay_ms} ms{jitter}, {self.per_second:,}/s"

    @property
    def conditions(self) -> dict[str, Any]:
        """Return the conditions as a lab file has them."""
        jitter = {"spread": f"{self.jitter_ms}ms", "distribution": "normal"}
        return {"delay": f"{self.delay_ms}ms", **({"jitter": jitter} if self.jitter_ms else {})}


PACED = (Paced(1, 100), Paced(1, 1000), Paced(10, 100), Paced(10, 1000), Paced(10, 100, 1))
ROUNDS = 3
SECONDS = 5


def run() -> Section:
    """Measure delay, jitter, rate and loss of both engines, in a guest if netem is only there."""
    section = Section(
        "netem",
        "The own engine and netem",
        "Both engines on the same kernel, with the same conditions, in turn. Stamps are those of "
        f"taps at both ports. {ROUNDS} rounds, medians of their figures. Delays over {SECONDS} s: "
        "the error is the delay seen less the configured delay, p50 / p99. Jitter at a rate at "
        f"which frames need not wait for each other. Rates over {RATED_S} s, as frames hold the "
        f"medium. Loss of {LOST_OF:,} frames at 2,000/s. `nearer`: to the configured value, of "
        "delays by the median.",
        ("what", "configured", "own engine", "kernel", "nearer"),
    )
    with _place() as place:
        for case in PACED:
            section.rows.append(_paced(place, case))
        for size in (FULL, SHORT):
            section.rows.append(_rated(place, size))
        section.rows.append(_lossy(place))
        section.notes.append(f"On {place.name}.")
    return section


class Place:
    """The kernel on which labs are built: this machine's, or a guest's."""

    def __init__(self, inside: Machine | None) -> None:
        self.inside = inside
        if inside is None:
            self.name = "this machine's kernel"
        else:
            release = inside.run("uname", "-r").strip()
            self.name = (
                f"Linux {release} in a virtual machine of two CPUs; the one here lacks netem"
            )

    @contextmanager
    def lab(self, engine: str, conditions: dict[str, Any]) -> Iterator[Bed]:
        """Bring up two nodes on a link."""
        link = {"between": [NEAR, FAR], "name": LINK, **conditions}
        lab = {"lab": "netem", "nodes": {NEAR: {}, FAR: {}}, "links": [link], "engine": engine}
        spec = lab_from_data(lab)
        where = lab_in(self.inside, spec) if self.inside else temporary(spec, accounting=False)
        with where as bed:
            yield bed


@contextmanager
def _place() -> Iterator[Place]:
    with ExitStack() as stack:
        missing = kernel_parts()["netem"] is not None
        yield Place(stack.enter_context(machine(MODULES)) if missing else None)


def _paced(place: Place, case: Paced) -> tuple[str, ...]:
    count = case.per_second * SECONDS

    def errors_us(engine: str) -> tuple[float, float]:
        with place.lab(engine, case.conditions) as bed:
            stamps = tapped(bed, count, 1_000_000_000 // case.per_second, 100).drop_nulls()
        errors = (stamps["out"] - stamps["in"] - case.delay_ms * 1_000_000) / 1000
        if case.jitter_ms:
            return fmean(errors), pstdev(errors)
        return _quantile(errors, 0.5), _quantile(errors, 0.99)

    seen = _in_turn(errors_us)
    middle = {engine: tuple(map(median, zip(*r, strict=True))) for engine, r in seen.items()}
    if case.jitter_ms:
        off = {engine: abs(sd / 1000 - case.jitter_ms) for engine, (_, sd) in middle.items()}
        cells = [f"mean {m / 1000:+.3f}, sd {sd / 1000:.3f} ms" for m, sd in middle.values()]
        return (case.title, f"mean 0, sd {case.jitter_ms:.2f} ms", *cells, _nearer(off))
    off = {engine: abs(p50) for engine, (p50, _) in middle.items()}
    cells = [f"{p50:.0f} / {p99:.0f} µs" for p50, p99 in middle.values()]
    return (case.title, "0", *cells, _nearer(off))


def _rated(place: Place, size: int) -> tuple[str, ...]:
    held = max(size + FRAMING, SHORTEST) * 8
    configured = RATES_BPS[size]
    interval_ns = round(held / configured * 1e9 / 1.2)

    def bps(engine: str) -> float:
        with place.lab(engine, {"rate": f"{configured}bit", "queue": 200}) as bed:
            return held * frames_per_second(bed, interval_ns, size)

    achieved = {engine: median(rounds) for engine, rounds in _in_turn(bps).items()}
    off = {engine: abs(bps / configured - 1) for engine, bps in achieved.items()}
    cells = [f"{bps / 1e6:.3f} ({bps / configured - 1:+.2%})" for bps in achieved.values()]
    return (
        f"rate, frames of {size + 4} bytes",
        f"{configured / 1e6:.3f} Mbit/s",
        *cells,
        _nearer(off),
    )


def _lossy(place: Place) -> tuple[str, ...]:
    def share(engine: str) -> float:
        with place.lab(engine, {"loss": "1%"}) as bed:
            stamps = tapped(bed, LOST_OF // ROUNDS, 500_000, 100)
            return stamps["out"].null_count() / stamps["in"].count()

    # The standard deviation by chance is 0.07 % here: a difference within it says nothing.
    cells = [f"{fmean(shares):.2%}" for shares in _in_turn(share).values()]
    return (f"loss, {LOST_OF:,} frames", "1.00%", *cells, "chance decides")


def _in_turn(measure: Callable[[str], T]) -> dict[str, list[T]]:
    """Return each engine's results, the engines measured in turn in every round."""
    found: dict[str, list[T]] = {engine: [] for engine in ENGINES}
    for _ in range(ROUNDS):
        for engine in ENGINES:
            found[engine].append(measure(engine))
    return found


def tapped(bed: Bed, count: int, interval_ns: int, size: int) -> pl.DataFrame:
    """Send frames from near to far; return each one's stamps `in` and `out` in ns."""
    near, far = (bed.plan.nodes[node].attachments[0].outward[0] for node in (NEAR, FAR))
    tap = bed.session(near.agent)
    request = Tap(
        interfaces=[TapInterface(near.interface, "in"), TapInterface(far.interface, "out")],
        filter=TapFilter("udp", 4, probe=1, port=PORT),
    )
    result = tap.start(request)
    tap.event(30)
    generate(bed, count, interval_ns, size)
    settled(bed)
    tap.stop()
    tap.finish(120)
    stamps = frame(result, "stamps")
    tap.close()
    table = stamps.with_columns(pl.col("point").cast(pl.String))
    return table.pivot(on="point", index="seq", values="time_ns")


def frames_per_second(bed: Bed, interval_ns: int, size: int) -> float:
    """Return the frames/s that leave a link which is offered more than it carries."""
    session = bed.session(f"node.{NEAR}")
    count = int((RATED_S + TAIL_S) * 1e9 / interval_ns)
    _start(session, bed, count, interval_ns, size)
    times, counts = zip(*_while_rated(_left(bed)), strict=True)
    session.finish(120)
    session.close()
    # The slope of a line through all readings: each one may have been taken late.
    return float(np.polyfit(np.array(times) - times[0], counts, 1)[0]) * 1e9


def _while_rated(moments: Iterator[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the readings from the first frame that left on, for as long as a rate is measured."""
    first_ns = None
    for now_ns, left in moments:
        if left == 0:
            continue
        first_ns = first_ns or now_ns
        if now_ns - first_ns > RATED_S * 1e9:
            return
        yield now_ns, left


def _left(bed: Bed) -> Iterator[tuple[int, int]]:
    """Yield again and again the time in ns and the number of frames that have left the link."""
    session = bed.session("link.here")
    try:
        while True:
            report = session.call(Links()).done
            yield report.now_ns or 0, _way(report).left.frames
            time.sleep(0.2)
    finally:
        session.close()


def generate(bed: Bed, count: int, interval_ns: int, size: int) -> None:
    """Send frames from near to far, one way, and wait until all are sent."""
    session = bed.session(f"node.{NEAR}")
    _start(session, bed, count, interval_ns, size)
    session.finish(300)
    session.close()


def _start(session: Session, bed: Bed, count: int, interval_ns: int, size: int) -> None:
    request = Generate(
        flows=[flow(bed.plan, LINK)],
        probe=1,
        count=count,
        interval_ns=interval_ns,
        size=size,
        port=PORT,
        realtime=True,
    )
    session.start(request)


def settled(bed: Bed) -> Direction:
    """Wait until no frame is under way, then return the link's report on near's frames."""
    session = bed.session("link.here")
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        way = _way(session.call(Links()).done)
        if not way.held:
            session.close()
            return way
    raise AssertionError("frames stay under way")


def _way(report: EngineReport) -> Direction:
    return next(each for each in report.directions if each.node == NEAR)


def _quantile(values: pl.Series, share: float) -> float:
    found = values.quantile(share)
    assert found is not None
    return found


def _nearer(off: dict[str, float]) -> str:
    return min(off, key=off.__getitem__)
