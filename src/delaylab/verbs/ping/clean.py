"""Ping with feedback: packets that this machine biased are refused and repeated.

The repeats come after the schedule, which they leave as it is, in rounds of a second. Judged by
causes they are sent at once; judged by the machine's use each round waits until that is low.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial

from rich.console import Console

from delaylab.agent.recording import CpuRecording
from delaylab.agent.result import AgentError
from delaylab.agent.session import Session
from delaylab.errors import BadInput
from delaylab.machines import LOCAL
from delaylab.verbs.ping.addresses import is_here, resolve
from delaylab.verbs.ping.cleaned import CleanEnd
from delaylab.verbs.ping.evidence import EvidenceSource, SourceByCauses, SourceByUse
from delaylab.verbs.ping.judging import JudgedPackets
from delaylab.verbs.ping.machine import MachineWatch, during, watching
from delaylab.verbs.ping.reading import OnPacket, deadline_s, finish
from delaylab.verbs.ping.result import PingResult
from delaylab.verbs.ping.run import (
    AT_MOST,
    WEB,
    OnePing,
    PingOptions,
    check,
    print_head,
    printer,
)
from delaylab.verbs.ping.why import process_of, recording_cpus
from delaylab.verdicts.bias import PATIENCE, ROUND_S, traffic_of

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
    check(replace(options, count=(options.count or AT_MOST) + (options.repeats or 0)))
    address = resolve(options.host, options.version, options.origin.interface)
    with ExitStack() as stack:
        session = LOCAL.session()
        stack.callback(session.close)
        recording = stack.enter_context(recording_cpus())
        by_causes = recording.failed is None
        machine = stack.enter_context(watching(followed=not by_causes))
        source: EvidenceSource
        if by_causes:
            sender, here = process_of(session), is_here(address)
            source = SourceByCauses(recording, sender, options.interval, here=here)
        else:
            source = SourceByUse(machine, _own_bps(options))
        if options.interval < source.least_interval:
            what = f"--clean cannot judge packets that are sent each {options.interval} here"
            raise BadInput(what, fix=f"give --interval {source.least_interval} at least")
        if console is not None:
            print_head(options, address, console)
        show = stack.enter_context(printer(console, options, address))
        pinging = _CleanPing(options, address, session, machine, source, recording)
        pinging.shown_to = [] if options.quiet else [show]
        pinging.shown_to += [] if watch is None else [watch]
        return pinging.to_the_end()


class _CleanPing:
    """A ping under way, with its rounds so far."""

    def __init__(
        self,
        options: PingOptions,
        address: str,
        session: Session,
        machine: MachineWatch,
        source: EvidenceSource,
        recording: CpuRecording,
    ) -> None:
        self.shown_to: list[OnPacket] = []
        self._options, self._address = options, address
        self._count, self._budget = options.count or AT_MOST, options.repeats or 0
        self._session, self._machine = session, machine
        self._source, self._recording = source, recording
        self._judged = JudgedPackets(source.evidence, self._count)
        self._rounds: list[PingResult] = []
        self._sent = 0
        self._deadline_s: float | None = None

    def to_the_end(self) -> PingResult:
        """Send the packets on schedule, then the repeats; return the result of all."""
        ended_by: CleanEnd = "interrupted"
        try:
            self._source.begin()
            self._deadline_s = deadline_s(self._options.deadline)
            ended_by = self._send(self._count) or self._repeat()
        except KeyboardInterrupt:
            if not self._rounds:
                raise
        meanwhile = self._machine.end()
        self._recording.end()
        found = self._judged.found(
            repeats=sum(each.sent for each in self._rounds[1:]),
            budget=self._budget,
            waited_s=self._source.waited_s,
            ended_by=ended_by,
        )
        found = replace(found, recorded=self._recording.done, failed=self._recording.failed)
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
        shown_to = [*map(partial(_renumbered, first), self.shown_to), *self._source.takers]
        options = replace(self._options, count=count)
        one = OnePing(options, self._address, self._session, shown_to or None)
        one.start()
        end = finish([one.reader], self._deadline_s, self._machine, self._recording)
        try:
            result = one.result(end)
        except AgentError as error:
            if not self._rounds:
                raise
            self._rounds.append(replace(self._rounds[-1], sent=0, packets=(), cut_short=str(error)))
            return "unknown"
        packets = tuple(replace(each, seq=first + each.seq) for each in result.packets)
        self._rounds.append(replace(result, packets=packets))
        self._source.settle(packets)
        self._judged.judge(packets)
        if result.cut_short is not None:
            return "unknown"
        return None if end == "done" else end

    def _repeat(self) -> CleanEnd:
        """Repeat biased packets while that may help; return why no more were repeated."""
        interval = self._options.interval
        patience_s = max(PATIENCE.seconds, self._budget * interval.seconds)
        while self._judged.missing:
            left = self._count + self._budget - self._sent
            if not left:
                return "budget"
            waits_until_s = time.monotonic() + patience_s - self._source.waited_s
            due_s = time.monotonic() + self._last_sent_s() + interval.seconds - time.time()
            if not self._source.may_send(due_s, self._deadline_s or waits_until_s):
                if self._source.ended:
                    return "unknown"
                return "patience" if self._deadline_s is None else "deadline"
            of_round = max(1, round(ROUND_S / interval.seconds))
            if ended_by := self._send(min(left, self._judged.missing, of_round)):
                return ended_by
        return "enough"

    def _last_sent_s(self) -> float:
        sent = (each.sent_ns for found in self._rounds[-1:] for each in found.packets)
        return max((each for each in sent if each is not None), default=0) / 1e9


def _renumbered(first: int, show: OnPacket) -> OnPacket:
    """Return what shows a packet of a round by its number among all packets."""
    return lambda packet: show(replace(packet, seq=first + packet.seq))


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
