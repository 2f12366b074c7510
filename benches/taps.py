"""Benchmark of the cost of taps to the packets that they observe."""

from __future__ import annotations

import statistics

import numpy as np

from benches.pair import FAR, NEAR, probe
from benches.section import Section
from delaylab.agent.measuring_requests import Tap
from delaylab.agent.wire.tapping import TapFilter, TapInterface
from delaylab.lab.running import LiveLab
from delaylab.lab.start import temporary
from delaylab.plan.attachment import TapPoint
from delaylab.resolve.resolve import lab_from_data
from delaylab_study.trial.frames import frame

CORE = 1
COUNT = 20_000
ROUNDS = 25
IDENT = 34567
# (number of taps, method): no tap, programs at the interface's hooks, a packet ring
TAPS = ((0, "–"), (1, "tcx"), (3, "tcx"), (1, "ring"), (3, "ring"))


def run() -> Section:
    """Measure echo round trips at full speed without taps, with one and with three, in turn."""
    spec = lab_from_data(
        {
            "lab": "taps",
            "nodes": {NEAR: {"cpus": [CORE]}, FAR: {"cpus": [CORE]}},
            "links": [{"join": [NEAR, FAR], "name": "lan"}],
        }
    )
    times: dict[tuple[int, str], list[float]] = {key: [] for key in TAPS}
    dropped = 0
    with temporary(spec, accounting=False) as lab:
        near, far = (lab.plan.nodes[node].attachments[0] for node in (NEAR, FAR))
        # At the host's ends of both nodes' interfaces, and at the far node's own.
        own = TapPoint(far.agent, far.device, "stack")
        points = [*near.outward[:1], *far.outward[:1], own]
        for _ in range(ROUNDS):
            for (count, by), measured in times.items():
                per_trip, lost = _measure(lab, far.address, points[:count], by)
                measured.append(per_trip)
                dropped += lost
    section = Section(
        "taps",
        "What a tap costs, per packet",
        f"{COUNT} echo round trips at full speed on one core, {ROUNDS} rounds in turn; each round "
        "trip passes each tap twice. The sender runs in real time, so that neither the machine's "
        "other work nor the taps' readers take its core. Goal: at most 200 ns and no unreported "
        "loss.",
        ("taps", "by", "round trip, µs (first quartile)", "cost per packet and tap, ns"),
    )
    for (count, by), measured in times.items():
        quiet = _quartile(measured)
        extra = (quiet - _quartile(times[TAPS[0]])) / (2 * count) * 1e3 if count else None
        cost = "–" if extra is None else f"{extra:.0f}"
        section.rows.append((str(count), by, f"{quiet:.2f}", cost))
    section.notes.append(f"Dropped by the taps, as they report: {dropped} packets.")
    return section


def _quartile(times: list[float]) -> float:
    """Return the lower quartile: the rounds that the machine's other work disturbed least."""
    return statistics.quantiles(times, n=4)[0]


def _measure(lab: LiveLab, far: str, points: list[TapPoint], by: str) -> tuple[float, int]:
    """Return the microseconds per round trip, and the number of packets that taps dropped."""
    taps = []
    for number, point in enumerate(points):
        session = lab.session(point.agent)
        request = Tap(
            interfaces=[TapInterface(point.interface, f"p{number}")],
            filter=TapFilter("icmp", 4, probe=1, ident=IDENT),
            tcx=by == "tcx",
        )
        taps.append((session, session.start(request)))
        session.event(10)
    result = probe(lab, far, count=COUNT, interval_ns=0, stamps=["app"], realtime=True)
    dropped = 0
    for session, stamped in taps:
        session.stop()
        session.finish(30)
        (tap,) = stamped.done.interfaces
        assert tap.by == by, tap
        dropped += tap.dropped
        session.close()
    sent = frame(result, "packets")["sent_ns"].drop_nulls().to_numpy()
    return float(np.ptp(sent)) / len(sent) / 1e3, dropped
