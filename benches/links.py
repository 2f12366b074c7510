"""How exactly the link engine keeps delays, and how much it carries."""

from __future__ import annotations

import json
import os
import statistics
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from benches.frames import PORT, SHORT, discarding, engine_report, generate, settled
from benches.pair import FAR, NEAR, need, run_in, start_in
from benches.section import Section
from delaylab import engines
from delaylab.lab import Lab, temporary
from delaylab.spec import LabSpec

NODES_CPU, ENGINE_CPU = 0, 1
ROUNDS = 7
SECONDS = 3
TAPPED = 10
"""So many links have taps at both of their ports: what the engine says of itself is checked."""
SIDES = ("in", "out")
FLOOD = 1_000_000
LIMIT = Path("/proc/sys/kernel/sched_rt_runtime_us")


@dataclass(frozen=True)
class Case:
    """Frames of 100 bytes at a fixed rate over all links in turn."""

    links: int
    per_second: int
    asked: str
    rattan: str

    @property
    def title(self) -> str:
        """The row's first cell."""
        links = "one link of 5 ms" if self.links == 1 else f"{self.links} links of 1 to 11 ms"
        return f"{links}, {self.per_second:,}/s"


CASES = (
    Case(1, 1_000, "6 / 30", "37 / 101"),
    Case(1, 50_000, "6 / 30", "52 / 484"),
    Case(250, 100_000, "10 / 30", "–"),
)


@dataclass
class Measured:
    """Median and 99th percentile of delay errors in each round, in µs; frames lost unasked."""

    engine: list[tuple[float, float]] = field(default_factory=list)
    taps: list[tuple[float, float]] = field(default_factory=list)
    lost: int = 0


def run() -> Section:
    """Delays at fixed rates, then as many frames, and as much TCP, as one link carries."""
    need("iperf3")
    section = Section(
        "links",
        "The link engine",
        f"One core for the engine, another for who sends and receives; {ROUNDS} rounds of "
        f"{SECONDS} s, the median of the rounds' figures. The error of a delay is how late a "
        "frame was sent: as the engine says of every frame, and as programs (tcx) at both ports of "
        f"up to {TAPPED} links see it. Frames are sent by an ordinary process to a socket that "
        "nobody reads; the benchmark itself keeps off the engine's CPU. Asked without the limit on "
        "real time lifted; "
        "figures of rattan are of this machine, too.",
        ("what", "engine: p50 / p99, µs", "taps: p50 / p99, µs", "asked", "rattan", "lost"),
    )
    for case in CASES:
        measured = _delays(case)
        cells = (_cell(measured.engine), _cell(measured.taps), case.asked, case.rattan)
        section.rows.append((case.title, *cells, str(measured.lost)))
    frames, bits = _most_frames(), _most_tcp()
    section.notes += [
        f"One link, frames of 64 bytes as fast as they come: {frames:,.0f} frames/s left it "
        "(asked: 350,000; rattan 160,000).",
        f"One TCP flow over a link without a rate, MTU 1500, the nodes' stacks kept off the "
        f"engine's CPU (`steer`): {bits / 1e9:.2f} Gbit/s (asked: 2.4; rattan 0.9).",
        f"Real time was limited to {_limit()} of a second.",
    ]
    return section


def _cell(rounds: list[tuple[float, float]]) -> str:
    middle, far = (statistics.median(column) for column in zip(*rounds, strict=True))
    return f"{middle:.1f} / {far:.1f}"


def _limit() -> str:
    share = int(LIMIT.read_text())
    return "all" if share < 0 else f"{share / 1e6:.0%}"


def _names(links: int) -> list[str]:
    return [f"w{number}" for number in range(links)]


@contextmanager
def _lab(delays_ns: list[int], cpus: list[int] | None, *, steer: bool = False) -> Iterator[Lab]:
    links = [
        {"between": [NEAR, FAR], "name": name, "delay": f"{delay_ns}ns"}
        for name, delay_ns in zip(_names(len(delays_ns)), delays_ns, strict=True)
    ]
    spec = LabSpec.model_validate(
        {
            "lab": "links",
            "nodes": {NEAR: {"cpus": cpus}, FAR: {"cpus": cpus}},
            "links": links,
            "engine": {"kind": "own", "cpus": [ENGINE_CPU], "steer": steer},
        }
    )
    with temporary(spec, accounting=False) as lab, discarding(lab):
        yield lab


@contextmanager
def _kept_to(cpu: int) -> Iterator[None]:
    """This process, and what it starts meanwhile, on one CPU: the engine's is not theirs."""
    before = os.sched_getaffinity(0)
    _keep_to({cpu})
    try:
        yield
    finally:
        _keep_to(before)


def _keep_to(cpus: set[int]) -> None:
    for thread in Path("/proc/self/task").iterdir():
        with suppress(ProcessLookupError):
            os.sched_setaffinity(int(thread.name), cpus)


def _delays(case: Case) -> Measured:
    step_ns = 10_000_000 // max(case.links - 1, 1)
    delays_ns = [1_000_000 + step_ns * number for number in range(case.links)]
    if case.links == 1:
        delays_ns = [5_000_000]
    measured = Measured()
    with _kept_to(NODES_CPU), _lab(delays_ns, [NODES_CPU]) as lab:
        for _ in range(ROUNDS):
            _round(lab, case, delays_ns, measured)
    return measured


def _round(lab: Lab, case: Case, delays_ns: list[int], measured: Measured) -> None:
    ports = _ports(lab)
    tap = lab.session("host.here")
    names = [(name, side) for name in _names(min(TAPPED, case.links)) for side in (0, 1)]
    tap.start(
        "tap",
        interfaces=[
            {"name": ports[link][side], "point": f"{link} {SIDES[side]}"} for link, side in names
        ],
        filter={"probe": 1, "protocol": "udp", "ident": 0, "ip": 4, "port": PORT},
        pcap=None,
    )
    tap.event(10)
    engines.reports(lab, reset=True)
    count = case.per_second * SECONDS
    sent = generate(lab, _names(case.links), count, 1_000_000_000 // case.per_second, 100)
    report = settled(lab)
    tap.stop()
    stamps = tap.finish(60).table("stamps")
    tap.close()
    ways = [way for way in report["directions"] if way["node"] == NEAR]
    measured.engine.append(
        (
            statistics.median(way["late"]["p50_ns"] for way in ways) / 1e3,
            statistics.median(way["late"]["p99_ns"] for way in ways) / 1e3,
        )
    )
    measured.taps.append(_errors(stamps, delays_ns))
    measured.lost += sent["sent"] - sum(way["out"]["frames"] for way in ways)
    measured.lost += sent["refused"]


def _errors(stamps: pl.DataFrame, delays_ns: list[int]) -> tuple[float, float]:
    """Median and 99th percentile of what taps saw beyond the delay that was asked, in µs."""
    parts = pl.col("point").cast(pl.String).str.split(" ")
    asked = pl.DataFrame(
        {"link": _names(len(delays_ns)), "delay_ns": delays_ns},
        schema={"link": pl.String, "delay_ns": pl.Int64},
    )
    errors = (
        stamps.with_columns(link=parts.list.get(0), side=parts.list.get(1))
        .pivot(on="side", index=["link", "seq"], values="time_ns")
        .drop_nulls()
        .join(asked, on="link")
        .select(error=(pl.col("out") - pl.col("in") - pl.col("delay_ns")) / 1e3)["error"]
    )
    middle, far = errors.quantile(0.5), errors.quantile(0.99)
    assert middle is not None
    assert far is not None
    return middle, far


def _ports(lab: Lab) -> dict[str, tuple[str, str]]:
    """Link -> its ports on the host: of what sends, of what receives."""
    ways = {(way["link"], way["node"]): way["port"] for way in engine_report(lab)["directions"]}
    return {link: (ways[link, NEAR], ways[link, FAR]) for link in lab.plan.laid}


def _most_frames() -> float:
    """Frames per second that leave a link into which all go that can."""
    rates: list[float] = []
    with _kept_to(NODES_CPU), _lab([1_000_000], [NODES_CPU]) as lab:
        for _ in range(ROUNDS):
            engines.reports(lab, reset=True)
            generate(lab, _names(1), FLOOD, 0, SHORT)
            (way,) = (w for w in settled(lab)["directions"] if w["node"] == NEAR)
            seconds = (way["last_out_ns"] - way["first_out_ns"]) / 1e9
            rates.append(way["out"]["frames"] / seconds)
    return statistics.median(rates)


def _most_tcp() -> float:
    """Bits per second of one flow; sender and receiver run where they like."""
    rates: list[float] = []
    with _lab([100_000], None, steer=True) as lab:
        far = lab.plan.interfaces[FAR][0].addresses[0].split("/")[0]
        for _ in range(ROUNDS):
            server = start_in(lab, FAR, "iperf3", "--server", "--one-off", "--forceflush")
            assert server.stdout is not None
            while b"listening" not in server.stdout.readline():
                pass
            done = run_in(lab, NEAR, "iperf3", "-c", far, "--json", "-t", str(SECONDS))
            server.wait()
            rates.append(json.loads(done.stdout)["end"]["sum_received"]["bits_per_second"])
    return statistics.median(rates)
