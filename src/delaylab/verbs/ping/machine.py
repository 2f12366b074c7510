"""The watch over this machine while it pings: the late packets, and what it did then."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from delaylab.agent.measuring_requests import Watch
from delaylab.agent.result import AgentError
from delaylab.agent.session import Session
from delaylab.agent.stream import ready
from delaylab.agent.wire.measuring import WatchPlace
from delaylab.machines import LOCAL
from delaylab.units import Duration
from delaylab.verbs.ping.during import LatePacket, MachineDuring
from delaylab.verbs.ping.result import PingPacket
from delaylab.verdicts.meanwhile import Meanwhile

END_S = 10.0
"""The longest wait for the last sample."""
PARTS = Duration.parse("50ms")
"""The least time between two reports of a watch that is followed: each sample is reported."""
HERE = "here"
"""The place whose interfaces are sampled: this process's network."""
LATE_NS, LATE_TIMES, LATE_PACKETS = 1_000_000, 2, 3
"""A late packet took so much longer than the median, and so many times it; the number shown."""


class MachineWatch:
    """An agent that samples this machine while it pings, and its samples so far.

    A watch that fails is no failure of the ping: what it has said until then counts. If it is
    `followed`, the samples come at once, else at the end, and they have the machine's interfaces.
    """

    def __init__(self, session: Session, *, followed: bool = False) -> None:
        self.session, self.ended = session, False
        self.meanwhile = Meanwhile()
        # What the ping itself starts does not disturb it.
        asked = Watch(without_process=os.getpid(), brief=True)
        if followed:
            here = WatchPlace(HERE, os.getpid(), {})
            asked = replace(asked, places=[here], parts_ns=PARTS.ns)
        self._result = session.start(asked)

    def read(self) -> None:
        """Read once."""
        try:
            self.ended = self.session.poll_done()
            self._take()
        except AgentError:
            self.ended = True

    def follow(self, until_s: float) -> None:
        """Read until a time of the monotonic clock, or until the watch has ended."""
        while not self.ended and (left_s := until_s - time.monotonic()) > 0:
            if ready([self.session], left_s):
                self.read()

    def end(self) -> Meanwhile:
        """Stop it and return what it saw."""
        try:
            if not self.ended:
                self.session.stop()
                self.session.finish(END_S)
            self._take()
        except AgentError:
            pass
        self.ended = True
        return self.meanwhile

    def _take(self) -> None:
        for part in self._result.take_rows("hosts"):
            self.meanwhile.take(
                part.numbers["time_ns"],
                part.texts["place"],
                part.texts["metric"],
                part.fractions["value"],
            )


@contextmanager
def watching(*, followed: bool = False) -> Iterator[MachineWatch]:
    """Watch this machine for the length of a block. The watch begins while the ping does."""
    session = LOCAL.session()
    try:
        yield MachineWatch(session, followed=followed)
    finally:
        session.close()


def during(meanwhile: Meanwhile, packets: Iterable[PingPacket]) -> MachineDuring:
    """Return what a machine did during a ping of these packets."""
    return MachineDuring(meanwhile, latest(packets, meanwhile))


def latest(packets: Iterable[PingPacket], meanwhile: Meanwhile) -> Sequence[LatePacket]:
    """Return the latest of the late packets, with what the machine did then."""
    took = [
        (each.rtt_user_ns + max(0, each.slip_ns or 0), each)
        for each in packets
        if each.rtt_user_ns is not None and each.sent_ns is not None
    ]
    if not took:
        return ()
    usual = statistics.median(took_ns for took_ns, _ in took)
    least = max(usual + LATE_NS, usual * LATE_TIMES)
    first = sorted(took, key=lambda it: -it[0])[:LATE_PACKETS]
    return [_late(each, took_ns, meanwhile) for took_ns, each in first if took_ns >= least]


def _late(packet: PingPacket, took_ns: int, meanwhile: Meanwhile) -> LatePacket:
    sent_ns, slip_ns = packet.sent_ns or 0, max(0, packet.slip_ns or 0)
    due_ns = sent_ns - slip_ns
    return LatePacket(
        seq=packet.seq,
        sent_ns=sent_ns,
        took_ns=took_ns,
        slip_ns=slip_ns,
        then=meanwhile.between(due_ns, due_ns + took_ns),
    )
