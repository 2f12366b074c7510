"""Frames that cross links with conditions, and what the engine says of them."""

from __future__ import annotations

import time
from typing import Any

from benches.pair import FAR, NEAR
from delaylab import engines
from delaylab.lab import Lab

PORT = 9
SHORT = 60
"""Bytes of a frame of 64 on the wire, which has its check sequence behind them."""
FULL = 1514
"""Bytes of one with a packet of 1500, from its Ethernet header on."""


def generate(lab: Lab, links: list[str], count: int, interval_ns: int, size: int) -> dict[str, Any]:
    """Send frames from the near node to the far one, over these links in turn; what was sent."""
    interfaces = {interface.link: interface.name for interface in lab.plan.interfaces[NEAR]}
    flows = [
        {
            "interface": interfaces[link],
            "to_mac": lab.plan.laid[link].macs[FAR],
            "from": "192.0.2.1",
            "to": "192.0.2.2",
        }
        for link in links
    ]
    session = lab.node_session(NEAR)
    done = session.call(
        "generate",
        timeout=120,
        flows=flows,
        probe=1,
        count=count,
        interval_ns=interval_ns,
        size=size,
        port=PORT,
        realtime=True,
    ).done
    session.close()
    return done


def engine_report(lab: Lab) -> dict[str, Any]:
    """What the lab's one engine says."""
    (report,) = engines.reports(lab)
    return report


def settled(lab: Lab) -> dict[str, Any]:
    """What it says once no frame is under way."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        report = engine_report(lab)
        if not any(way["held"] for way in report["directions"]):
            return report
    raise AssertionError("frames stay under way")
