"""A link engine that was stopped sends what is due as soon as it goes on."""

from __future__ import annotations

import os
import re
import signal
import time
from pathlib import Path

import pytest

from delaylab.agent.measuring_requests import Probe
from delaylab.agent.wire.links import WantedPacket
from delaylab.lab.links import link_engines
from delaylab.lab.links.passages import LinkRecords
from delaylab.lab.start import temporary
from delaylab.resolve.resolve import lab_from_data

pytestmark = pytest.mark.root

LAB = {
    "lab": "stopped",
    "nodes": {"one": {}, "two": {}},
    "links": [{"between": ["one", "two"], "name": "line", "delay": "800ms"}],
}
STOP_S, GO_ON_S = 0.4, 1.8
"""The times after a packet was asked for: it is due after 0.8 s, while the engine is stopped."""
AT_ONCE_S = 0.2
"""The most time that it may take from then on; 0.4 s or more were left of the wait."""


def test_a_wait_that_a_stop_interrupted_ends_when_the_engine_goes_on() -> None:
    with temporary(lab_from_data(LAB), accounting=False) as lab:
        (engine,) = (report.pid for report in link_engines.reports(lab))
        assert engine is not None
        assert _can_notice(engine) == {engine}
        sender, to = lab.node_session("one"), lab.plan.attachment("two", "line").address
        sender.start(_packet(4, to))
        # After the first packet its receiver's MAC address is known.
        sender.finish(20.0)
        sent_ns = time.time_ns()
        asked = sender.start(_packet(5, to))
        # The packet must be under way at the stop, and due before the engine goes on.
        _sleep_until(sent_ns, STOP_S)
        os.kill(engine, signal.SIGSTOP)
        try:
            _sleep_until(sent_ns, GO_ON_S)
        finally:
            went_on_ns = time.time_ns()
            os.kill(engine, signal.SIGCONT)
        sender.finish(10.0)
        assert asked.done.replied == 1
        records = LinkRecords(lab)
        first, _ = records.of_packet(WantedPacket(5, 0, sent_ns, time.time_ns()))
        records.close()
        assert first.due_ns < went_on_ns <= first.ended_ns < went_on_ns + AT_ONCE_S * 1e9


def _can_notice(process: int) -> set[int]:
    """Return the threads of a process that can be the one to notice that it goes on.

    The kernel tells one thread alone, whichever runs first: in an engine it must be the loop.
    """
    found = set()
    for task in Path(f"/proc/{process}/task").iterdir():
        status = (task / "status").read_text()
        (blocked,) = re.findall(r"^SigBlk:\t([0-9a-f]+)$", status, re.MULTILINE)
        if not int(blocked, 16) >> (signal.SIGCONT - 1) & 1:
            found.add(int(task.name))
    return found


def _sleep_until(since_ns: int, after_s: float) -> None:
    time.sleep(max(0.0, after_s - (time.time_ns() - since_ns) / 1e9))


def _packet(probe: int, to: str) -> Probe:
    return Probe(
        probe=probe,
        protocol="icmp",
        to=to,
        count=1,
        interval_ns=1,
        size=64,
        linger_ns=5_000_000_000,
        late_ns=5_000_000_000,
    )
