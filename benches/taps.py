"""What taps cost the packets that they observe."""

from __future__ import annotations

import statistics

import numpy as np

from benches.pair import FAR, NEAR, probe
from benches.section import Section
from delaylab.lab import Lab, temporary
from delaylab.spec import LabSpec

CORE = 1
COUNT = 100_000
ROUNDS = 5
IDENT = 34567
POINTS = (("host.here", f"vif-{NEAR}"), ("host.here", f"vif-{FAR}"), (f"node.{FAR}", "eth0"))


def run() -> Section:
    """Echo round trips at full speed without taps, with one and with three, in turn."""
    spec = LabSpec.model_validate(
        {
            "lab": "taps",
            "nodes": {NEAR: {"cpus": [CORE]}, FAR: {"cpus": [CORE]}},
            "links": [{"join": [NEAR, FAR], "name": "lan"}],
        }
    )
    times: dict[int, list[float]] = {0: [], 1: [], 3: []}
    dropped = 0
    with temporary(spec, accounting=False) as lab:
        far = lab.plan.interfaces[FAR][0].addresses[0].split("/")[0]
        for _ in range(ROUNDS):
            for count, measured in times.items():
                per_trip, lost = _measure(lab, far, count)
                measured.append(per_trip)
                dropped += lost
    section = Section(
        "taps",
        "What a tap costs, per packet",
        f"{COUNT} echo round trips at full speed on one core, {ROUNDS} rounds in turn; each round "
        "trip passes each tap twice. Asked: at most 200 ns and no unreported loss.",
        ("taps", "round trip, µs (median)", "cost per packet and tap, ns"),
    )
    base = statistics.median(times[0])
    for count, measured in times.items():
        median = statistics.median(measured)
        cost = f"{(median - base) / (2 * count) * 1e3:.0f}" if count else "–"
        section.rows.append((str(count), f"{median:.2f}", cost))
    section.notes.append(f"Dropped by the taps, as they report: {dropped} packets.")
    return section


def _measure(lab: Lab, far: str, taps: int) -> tuple[float, int]:
    """Microseconds per round trip, and packets that taps dropped."""
    sessions = []
    for number, (agent, interface) in enumerate(POINTS[:taps]):
        session = lab.session(agent)
        session.start(
            "tap",
            interfaces=[{"name": interface, "point": f"p{number}"}],
            filter={"probe": 1, "protocol": "icmp", "ident": IDENT, "ip": 4, "port": 0},
            pcap=None,
        )
        session.event(10)
        sessions.append(session)
    result = probe(lab, far, count=COUNT, interval_ns=0, stamps=["app"], realtime=False)
    dropped = 0
    for session in sessions:
        session.stop()
        dropped += sum(tap["dropped"] for tap in session.finish(30).done["interfaces"])
        session.close()
    sent = result.table("packets")["sent_ns"].drop_nulls().to_numpy()
    return float(np.ptp(sent)) / len(sent) / 1e3, dropped
