"""Clocks of guests read beside this machine's: a check of the alignment that needs no packet.

A reading is three times: this machine's clock, the guest's through its agent, this machine's again.
The guest's was read in between, so the offset is known within half of the time that both took.
"""

from __future__ import annotations

import time
from typing import Any

from delaylab.lab import Lab

READINGS = 20
KEPT = 5
"""Of so many readings in a row those that took least: the others waited for something."""


def read(lab: Lab, agents: list[str], reference: str) -> list[dict[str, Any]]:
    """Readings of the clocks that these agents' stamps are of, but for the `reference` itself."""
    others = {lab.clock(agent): agent for agent in agents if lab.clock(agent) != reference}
    return [
        reading
        for clock, agent in others.items()
        for reading in _best(lab, clock, agent, reference)
    ]


def _best(lab: Lab, clock: str, agent: str, reference: str) -> list[dict[str, Any]]:
    session = lab.session(agent)
    readings = []
    for _ in range(READINGS):
        before = time.time_ns()
        other = session.call("clock").done["time_ns"]
        after = time.time_ns()
        readings.append(
            {
                "clock": clock,
                "reference": reference,
                "before_ns": before,
                "other_ns": other,
                "after_ns": after,
            }
        )
    session.close()
    return sorted(readings, key=lambda r: r["after_ns"] - r["before_ns"])[:KEPT]
