"""Readings of guests' clocks beside this machine's, which check the clock alignment.

A reading is three times: this machine's clock, the guest's through its agent, this machine's again.
The guest's clock was read between the other two, so the offset is known to within half of their
difference. It needs no packets.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from delaylab.api.agents import Clock, Hello, Session
from delaylab.api.machines import LOCAL
from delaylab.api.running import LiveLab
from delaylab_study.dataset.records.trial import ClockReading

READINGS = 20
KEPT = 5
"""The number of readings to keep, those that took least time: the others were held up."""


def ahead_ns(session: Session) -> int:
    """Return how far the clock of a session's agent is ahead of this machine's, in ns."""
    before, other, after = _best(session)[0]
    return other - (before + after) // 2


def read(lab: LiveLab, agents: list[str]) -> list[ClockReading]:
    """Return readings of the clocks of these agents, except for those that are this machine's."""
    session = LOCAL.session()
    try:
        reference = session.call(Hello()).done.clock
    finally:
        session.close()
    others = {lab.clock(agent): agent for agent in agents if lab.clock(agent) != reference}
    return [
        reading for clock, agent in others.items() for reading in _of(lab, clock, agent, reference)
    ]


def _of(lab: LiveLab, clock: str, agent: str, reference: str) -> Iterator[ClockReading]:
    session = lab.session(agent)
    for before, other, after in _best(session)[:KEPT]:
        yield ClockReading(
            clock=clock,
            reference=reference,
            before_ns=before,
            other_ns=other,
            after_ns=after,
        )
    session.close()


def _best(session: Session) -> list[tuple[int, int, int]]:
    """Return times of this machine, of the agent, of this machine again; the quickest first."""
    readings = []
    for _ in range(READINGS):
        before = time.time_ns()
        other = session.call(Clock()).done.time_ns
        readings.append((before, other, time.time_ns()))
    return sorted(readings, key=lambda reading: reading[2] - reading[0])
