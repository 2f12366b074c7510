"""Benchmark of the link engine: accuracy of its delays, and the load that it carries."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import polars as pl

from benches.engine_lab import NODES_CPU, engine_lab, kept_to, link_names
from benches.frames import PORT, engine_report, generate, settled
from benches.most import most_frames, most_tcp
from benches.pair import FAR, NEAR, need
from benches.section import Section
from benches.undisturbed import MOST, TRIES, Rounds, rounds
from delaylab.agent.measuring_requests import Tap
from delaylab.agent.wire.tapping import TapFilter, TapInterface
from delaylab.lab.links import link_engines
from delaylab.lab.running import LiveLab
from delaylab_study.trial.frames import frame

ROUNDS = 5
SECONDS = 3
WITHIN_S = 20
"""The time after which no rounds are made beyond those wanted, for each row and each note."""
TAPPED = 10
"""Number of links with taps at both ports, which check the engine's own reports."""
SIDES = ("in", "out")
FLOOR_PART = 6
"""Limit for the lateness of the engine's CPU itself: a round is disturbed if its p99 is above this
part of the goal for the engine's p99."""
LIMIT = Path("/proc/sys/kernel/sched_rt_runtime_us")


class Goal(NamedTuple):
    """Goals for the largest errors of a delay, in µs."""

    p50: float
    p99: float


@dataclass(frozen=True)
class Case:
    """Frames of 100 bytes at a fixed rate over all links in turn."""

    links: int
    per_second: int
    goal: tuple[Goal, Goal]
    """Limits where the kernel limits real-time scheduling, and where it does not."""
    rattan: str
    steer: bool = False

    @property
    def title(self) -> str:
        """Return the row's first cell."""
        links = "one link of 5 ms" if self.links == 1 else f"{self.links} links of 1 to 11 ms"
        return f"{links}, {self.per_second:,}/s{', `steer`' if self.steer else ''}"


OUT_OF_STEP = 100_300
"""Frames per second used where 100,000 are meant. The time in which all links have their turn is
then no multiple of a timer's period; otherwise the timer's interrupts would always meet the same
links, tapped or not."""
CASES = (
    Case(1, 1_000, (Goal(6, 30), Goal(6, 30)), "37 / 101"),
    Case(1, 50_000, (Goal(6, 30), Goal(6, 30)), "52 / 484"),
    Case(250, OUT_OF_STEP, (Goal(10, 30), Goal(5, 15)), "–"),
    Case(250, OUT_OF_STEP, (Goal(10, 30), Goal(5, 15)), "–", steer=True),
)


@dataclass(frozen=True)
class Round:
    """Errors of delays in µs (median, p99) by engine and by taps; frames lost unasked."""

    engine: tuple[float, float]
    taps: tuple[float, float]
    floor: float
    """Lateness in µs, p99, that the engine's CPU showed while the engine only polled the clock."""
    held_up: float
    """Share of that time during which something else had the CPU."""
    lost: int


def run() -> Section:
    """Measure delays at fixed rates, then the most frames and TCP that one link carries."""
    need("iperf3")
    section = Section(
        "links",
        "The link engine",
        f"One core for the engine, another for who sends and receives; {ROUNDS} rounds of "
        f"{SECONDS} s, the median of the rounds' figures. The error of a delay is how late a "
        "frame was sent: as the engine says of every frame of all links, and as programs (tcx) at "
        f"both ports of up to {TAPPED} links see it. Frames are sent by an ordinary process to a "
        "socket that drops them; the benchmark itself keeps off the engine's CPU. The floor is "
        "what that CPU itself was late meanwhile, at the 99th percentile: in the time in which the "
        "engine had nothing to do but look at the clock, how late one moment in 100 was seen; in "
        "brackets the share of that time that passed without it. A round is left out, and another "
        f"one made, if the machine under this one took more than {MOST:.1%} of the CPUs' time "
        f"during it (steal), or if that CPU's floor was above 1/{FLOOR_PART} of the p99 goal, "
        f"up to {TRIES} times as many as are wanted, and within {WITHIN_S} s; then those least "
        "disturbed are kept. The "
        "table says how many were kept of how many, the most that was stolen from one of them, "
        "and the engine's figures for all. Figures of rattan are of a machine like this one, too.",
        (
            "what",
            "engine: p50 / p99, µs",
            "taps",
            "floor: p99 (held up)",
            "goal",
            "rattan",
            "lost",
            "rounds",
        ),
    )
    if _limit() == "all":
        section.variant, section.title = "lifted", "The link engine, real time without a limit"
    section.rows += [_row(case) for case in CASES]
    section.notes += [_flooded(), _flowed(), _limited()]
    return section


def _row(case: Case) -> tuple[str, ...]:
    measured = _delays(case)
    kept = measured.kept
    floor = statistics.median(r.floor for r in kept)
    held_up = statistics.median(r.held_up for r in kept)
    lost, elsewhere = (sum(r.lost for r in some) for some in (kept, measured.left_out))
    return (
        case.title,
        _cell(r.engine for r in kept),
        _cell(r.taps for r in kept),
        f"{floor:.1f} ({held_up:.1%})",
        "{:.0f} / {:.0f}".format(*_goal(case)),
        case.rattan,
        f"{lost}" + (f" (and {elsewhere} in those left out)" if elsewhere else ""),
        f"{measured}; all: {_cell(r.engine for r in (*kept, *measured.left_out))}",
    )


def _flooded() -> str:
    alone, steered = (most_frames(ROUNDS, WITHIN_S, steer=steer) for steer in (False, True))
    return (
        "One link, frames of 64 bytes as fast as they come: "
        f"{statistics.median(alone.kept):,.0f} frames/s left it (goal: 350,000; rattan 160,000; "
        f"rounds {alone}); with the nodes' stacks kept off the engine's CPU (`steer`) "
        f"{statistics.median(steered.kept):,.0f} (rounds {steered})."
    )


def _flowed() -> str:
    alone, steered = (most_tcp(ROUNDS, SECONDS, WITHIN_S, steer=steer) for steer in (False, True))
    return (
        "One TCP flow over a link without a rate, MTU 1500: "
        f"{statistics.median(alone.kept) / 1e9:.2f} Gbit/s (rounds {alone}), with `steer` "
        f"{statistics.median(steered.kept) / 1e9:.2f} (goal: 2.4; rattan 0.9; rounds {steered})."
    )


def _cell(figures: Iterable[tuple[float, float]]) -> str:
    middle, far = (statistics.median(column) for column in zip(*figures, strict=True))
    return f"{middle:.1f} / {far:.1f}"


def _limited() -> str:
    if _limit() == "all":
        return "The limit on real time was lifted (`sysctl -w kernel.sched_rt_runtime_us=-1`)."
    return f"Real time was limited to {_limit()} of a second."


def _goal(case: Case) -> Goal:
    return case.goal[_limit() == "all"]


def _limit() -> str:
    share = int(LIMIT.read_text())
    return "all" if share < 0 else f"{share / 1e6:.0%}"


def _delays(case: Case) -> Rounds[Round]:
    step_ns = 10_000_000 // max(case.links - 1, 1)
    delays_ns = [1_000_000 + step_ns * number for number in range(case.links)]
    if case.links == 1:
        delays_ns = [5_000_000]
    with kept_to(NODES_CPU), engine_lab(delays_ns, [NODES_CPU], steer=case.steer) as lab:
        most_us = _goal(case).p99 / FLOOR_PART
        return rounds(
            lambda: _round(lab, case, delays_ns), ROUNDS, lambda r: r.floor / most_us, WITHIN_S
        )


def _round(lab: LiveLab, case: Case, delays_ns: list[int]) -> Round:
    ports = _ports(lab)
    tap = lab.session("host.here")
    # The tapped links are spread over all: a frame's due time relative to the others' differs with
    # the delay.
    tapped = link_names(case.links)[:: max(case.links // TAPPED, 1)]
    names = [(name, side) for name in tapped for side in (0, 1)]
    request = Tap(
        interfaces=[
            TapInterface(ports[link][side], f"{link}.{SIDES[side]}") for link, side in names
        ],
        filter=TapFilter("udp", 4, probe=1, port=PORT),
    )
    result = tap.start(request)
    tap.event(10)
    link_engines.reports(lab, reset=True)
    count = case.per_second * SECONDS
    sent = generate(lab, link_names(case.links), count, 1_000_000_000 // case.per_second, 100)
    report = settled(lab)
    tap.stop()
    tap.finish(60)
    stamps = frame(result, "stamps")
    tap.close()
    ways = [way for way in report.directions if way.node == NEAR]
    left = sum(way.left.frames for way in ways)
    late, noise = report.late, report.cpu_noise
    return Round(
        engine=((late.p50_ns or 0) / 1e3, (late.p99_ns or 0) / 1e3),
        taps=_errors(stamps, delays_ns),
        floor=noise.p99_ns / 1e3,
        held_up=noise.held_up_ns / noise.watched_ns,
        lost=sent.sent - left + sent.refused,
    )


def _errors(stamps: pl.DataFrame, delays_ns: list[int]) -> tuple[float, float]:
    """Return median and p99 of the delay that taps saw beyond the configured one, in µs."""
    parts = pl.col("point").cast(pl.String).str.split(".")
    configured = pl.DataFrame(
        {"link": link_names(len(delays_ns)), "delay_ns": delays_ns},
        schema={"link": pl.String, "delay_ns": pl.Int64},
    )
    errors = (
        stamps.with_columns(link=parts.list.get(0), side=parts.list.get(1))
        .pivot(on="side", index=["link", "seq"], values="time_ns")
        .drop_nulls()
        .join(configured, on="link")
        .select(error=(pl.col("out") - pl.col("in") - pl.col("delay_ns")) / 1e3)["error"]
    )
    middle, far = errors.quantile(0.5), errors.quantile(0.99)
    assert middle is not None
    assert far is not None
    return middle, far


def _ports(lab: LiveLab) -> dict[str, tuple[str, str]]:
    """Return each link's ports on the host: the sender's, then the receiver's."""
    ways = {(way.link, way.node): way.port for way in engine_report(lab).directions}
    return {link: (ways[link, NEAR], ways[link, FAR]) for link in lab.plan.conditioned}
