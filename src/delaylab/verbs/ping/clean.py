"""Ping with feedback: packets that the machine's use may have biased are refused and repeated.

The repeats come after the schedule, which they leave as it is, in rounds of a second. Each round
waits until the machine is clean.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace

from rich.console import Console

from delaylab.agent.result import AgentError
from delaylab.agent.session import Session
from delaylab.errors import BadInput
from delaylab.machines import LOCAL
from delaylab.verbs.ping.addresses import resolve
from delaylab.verbs.ping.cleaned import CleanEnd
from delaylab.verbs.ping.judging import JudgedPackets, measured_time
from delaylab.verbs.ping.machine import MachineWatch, during, watching
from delaylab.verbs.ping.reading import OnPacket, deadline_s, finish
from delaylab.verbs.ping.result import PingPacket, PingResult
from delaylab.verbs.ping.run import (
    AT_MOST,
    WEB,
    OnePing,
    PingOptions,
    check,
    print_head,
    printer,
)
from delaylab.verdicts.bias import (
    BEFORE_NS,
    LEAST_INTERVAL,
    LOOK_S,
    PATIENCE,
    ROUND_S,
    SAMPLES_S,
    STEAL_NS,
    EvidenceByUse,
    is_clean_now,
    traffic_of,
)

AHEAD_S = STEAL_NS / 1e9 + BEFORE_NS / 1e9
"""The time for which the machine is watched before the first packet."""
LARGE_PACKET = 1500
"""The size in bytes that packets other than echoes and their answers may have."""


def run(
    options: PingOptions,
    console: Console | None = None,
    watch: OnPacket | None = None,
) -> PingResult:
    """Ping a host, and repeat biased packets; print each reply if there is a console.

    `watch` is called with each packet once its fate is known.
    """
    if options.interval < LEAST_INTERVAL:
        what = f"--clean looks at the machine's use, to which packets each {options.interval} add"
        raise BadInput(what, fix=f"give --interval {LEAST_INTERVAL} at least")
    check(replace(options, count=(options.count or AT_MOST) + (options.repeats or 0)))
    address = resolve(options.host, options.version, options.origin.interface)
    if console is not None:
        print_head(options, address, console)
    with ExitStack() as stack:
        session = LOCAL.session()
        stack.callback(session.close)
        machine = stack.enter_context(watching(followed=True))
        show = stack.enter_context(printer(console, options, address))
        shown = [show] if watch is None else [show, watch]
        pinging = _CleanPing(options, address, session, machine)
        pinging.shown_to = shown if watch or not options.quiet else None
        return pinging.to_the_end()


class _CleanPing:
    """A ping under way, with its rounds so far."""

    def __init__(
        self,
        options: PingOptions,
        address: str,
        session: Session,
        machine: MachineWatch,
    ) -> None:
        self.shown_to: Sequence[OnPacket] | None = None
        self._options, self._address = options, address
        self._count, self._budget = options.count or AT_MOST, options.repeats or 0
        self._session, self._machine = session, machine
        self._evidence = EvidenceByUse(machine.meanwhile, _own_bps(options))
        self._judged = JudgedPackets(self._evidence, self._count)
        self._rounds: list[PingResult] = []
        self._sent, self._waited_s = 0, 0.0
        self._deadline_s: float | None = None

    def to_the_end(self) -> PingResult:
        """Send the packets on schedule, then the repeats; return the result of all."""
        ended_by: CleanEnd = "interrupted"
        try:
            self._machine.follow(time.monotonic() + AHEAD_S)
            self._deadline_s = deadline_s(self._options.deadline)
            ended_by = self._send(self._count) or self._repeat()
        except KeyboardInterrupt:
            if not self._rounds:
                raise
        meanwhile = self._machine.end()
        found = self._judged.found(
            repeats=sum(each.sent for each in self._rounds[1:]),
            budget=self._budget,
            waited_s=self._waited_s,
            ended_by=ended_by,
        )
        whole = joined(self._rounds)
        return replace(
            whole,
            interrupted=ended_by == "interrupted",
            machine=during(meanwhile, whole.packets),
            clean=found,
        )

    def _send(self, count: int) -> CleanEnd | None:
        """Send packets, and judge them; return what ended the whole ping meanwhile, if anything."""
        first, self._sent = self._sent, self._sent + count
        shown_to = None if self.shown_to is None else [self._renumbered(first)]
        options = replace(self._options, count=count)
        one = OnePing(options, self._address, self._session, shown_to)
        one.start()
        end = finish([one.reader], self._deadline_s, self._machine)
        try:
            result = one.result(end)
        except AgentError as error:
            if not self._rounds:
                raise
            self._rounds.append(replace(self._rounds[-1], sent=0, packets=(), cut_short=str(error)))
            return "unknown"
        packets = tuple(replace(each, seq=first + each.seq) for each in result.packets)
        self._rounds.append(replace(result, packets=packets))
        self._await_evidence(packets)
        self._judged.judge(packets)
        if result.cut_short is not None:
            return "unknown"
        return None if end == "done" else end

    def _renumbered(self, first: int) -> OnPacket:
        def show(packet: PingPacket) -> None:
            for each in self.shown_to or ():
                each(replace(packet, seq=first + packet.seq))

        return show

    def _repeat(self) -> CleanEnd:
        """Repeat biased packets while that may help; return why no more were repeated."""
        interval = self._options.interval
        patience_s = max(PATIENCE.seconds, self._budget * interval.seconds)
        while self._judged.missing:
            left = self._count + self._budget - self._sent
            if not left:
                return "budget"
            waits_until_s = time.monotonic() + patience_s - self._waited_s
            if not self._becomes_clean(self._deadline_s or waits_until_s):
                if self._machine.ended:
                    return "unknown"
                return "patience" if self._deadline_s is None else "deadline"
            of_round = max(1, round(ROUND_S / interval.seconds))
            if ended_by := self._send(min(left, self._judged.missing, of_round)):
                return ended_by
        return "enough"

    def _becomes_clean(self, until_s: float) -> bool:
        """Wait for the next packet's time, and until the machine is clean; return False if not."""
        interval_s, last = self._options.interval.seconds, self._last_sent_s()
        self._machine.follow(min(until_s, time.monotonic() + last + interval_s - time.time()))
        began_s = time.monotonic()
        while not self._machine.ended and time.monotonic() < until_s:
            if is_clean_now(self._evidence, time.time_ns()):
                self._waited_s += time.monotonic() - began_s
                return True
            self._machine.follow(min(until_s, time.monotonic() + LOOK_S))
        self._waited_s += time.monotonic() - began_s
        return False

    def _last_sent_s(self) -> float:
        sent = (each.sent_ns for found in self._rounds[-1:] for each in found.packets)
        return max((each for each in sent if each is not None), default=0) / 1e9

    def _await_evidence(self, packets: Sequence[PingPacket]) -> None:
        """Wait until the machine's samples reach to the last answer."""
        known = [measured_time(each).until_ns for each in packets if each.sent_ns is not None]
        until_ns, until_s = max(known, default=0), time.monotonic() + SAMPLES_S
        while not self._machine.ended and time.monotonic() < until_s:
            span = self._evidence.span_ns
            if span is not None and span[1] >= until_ns:
                return
            self._machine.follow(min(until_s, time.monotonic() + LOOK_S))


def _own_bps(options: PingOptions) -> float | None:
    """Return the most traffic of a ping itself; None if its answers may be of any size."""
    if options.protocol in WEB:
        return None
    packet_bytes = options.size if options.protocol == "icmp" else LARGE_PACKET
    return traffic_of(packet_bytes, options.interval.seconds)


def joined(rounds: Sequence[PingResult]) -> PingResult:
    """Return the rounds of a ping as one; packets of each are numbered on from those before."""
    first, last = rounds[0], rounds[-1]
    return replace(
        first,
        sent=sum(each.sent for each in rounds),
        packets=tuple(packet for each in rounds for packet in each.packets),
        realtime=all(each.realtime for each in rounds),
        doubts=tuple({doubt.message: doubt for each in rounds for doubt in each.doubts}.values()),
        cut_short=last.cut_short,
    )
