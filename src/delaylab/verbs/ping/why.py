"""Causes of the late packets of a ping, by what this machine's CPUs did meanwhile."""

from __future__ import annotations

import time
from bisect import insort
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from delaylab.agent.recording import CpuRecording
from delaylab.agent.session import Session
from delaylab.agent.wire.links import WantedPacket
from delaylab.agent.wire.sessions import Hello
from delaylab.causes.drops import LOST, Drop, last_drops
from delaylab.causes.explained import Explained, WatchedPacket, explain, usual_of
from delaylab.causes.holds import Hold
from delaylab.causes.passages import Passage
from delaylab.causes.pieces import Stage
from delaylab.causes.records import CpuWindow
from delaylab.causes.shares import Usual
from delaylab.causes.tcp import BOTH, TcpConnection, tcp_holds
from delaylab.machines import LOCAL
from delaylab.verbs.ping.late import LATE_NS, LateFound, LostPacket
from delaylab.verbs.ping.result import PingPacket

if TYPE_CHECKING:
    from delaylab.lab.links.passages import LinkRecords, WithinLab

NEAR_NS = 100_000
"""The most time by which a usual packet takes longer than the median."""
FIRST, EVERY_NS, MOST_USUAL = 20, 200_000_000, 100
"""Usual packets that are looked at: the first ones, then one in so much time, the last so many."""
GROWN = 1.2
"""The factor by which usual packets are more when what they take is worked out anew."""
MOST_LATE_PER_S = 50
"""The most late packets in a second that are looked at."""
BEFORE_NS, AFTER_NS = 20_000_000, 1_000_000
"""The time around a packet of which records are read: a task may have waited before it was due."""
COPY_NS = 1_000_000_000
"""The longest wait for the copy of a request that was sent again for nothing and is under way.

It is under way for no longer than the request took with its answer.
"""
RECENT = 501
"""The packets of which the median is taken."""
OTHER_KERNEL = "the sender has a kernel of its own, so this machine does not see its tasks"


@dataclass(frozen=True, slots=True)
class OnLate:
    """Functions that are called for late packets, with why each was late, and for lost ones."""

    explained: Callable[[Explained], None]
    late: Callable[[], None] = lambda: None
    lost: Callable[[LostPacket], None] = lambda _: None


@dataclass(eq=False)
class WhyWatch:
    """The packets of a ping that are looked at, and why the late ones were late.

    `by` is the process that sends, or the part of a lab. `listeners` are called for late packets,
    and for lost ones. `probe` is the number of the probe, without which no loss is looked at, and
    `service_port` the port that it asks. `links` are the link engines of this machine, None outside
    of labs. A packet is late if it takes `late_ns` longer than the median.
    """

    recording: CpuRecording
    by: frozenset[int | str]
    listeners: Sequence[OnLate] = ()
    probe: int | None = None
    links: LinkRecords | None = None
    service_port: int = 0
    late_ns: int = LATE_NS
    explained: list[Explained] = field(default_factory=list)
    lost: list[LostPacket] = field(default_factory=list)
    late: int = 0
    _recent: deque[int] = field(default_factory=lambda: deque(maxlen=RECENT))
    _sorted: list[int] = field(default_factory=list)
    _usual: deque[tuple[int, int, WatchedPacket]] = field(
        default_factory=lambda: deque(maxlen=MOST_USUAL)
    )
    _began_ns: int = field(default_factory=time.time_ns)
    _next_usual_ns: int = 0
    _looked_at: deque[int] = field(default_factory=lambda: deque(maxlen=MOST_LATE_PER_S))
    _looked_for: deque[int] = field(default_factory=lambda: deque(maxlen=MOST_LATE_PER_S))
    _expected: dict[int, tuple[int, Usual]] = field(default_factory=dict)
    _seen: int = 0
    _held_back: list[tuple[int, Callable[[], None]]] = field(default_factory=list)

    def add(self, packet: PingPacket) -> None:
        """Look at a packet, if it is late or lost, or now and then if it is not."""
        self._ask_due(time.time_ns())
        if packet.outcome in LOST:
            self._look_for(packet.seq)
        stages, took_ns = stages_of(packet, self.by), took_of(packet)
        if stages is None or took_ns is None or packet.duplicates:
            return
        self._seen += 1
        median = self._median()
        self._count(took_ns)
        at_ns = packet.sent_ns or 0
        if median is not None and took_ns >= median + self.late_ns:
            self.late += 1
            for each in self.listeners:
                each.late()
            if _has_room(self._looked_at, at_ns):
                wait_ns = 0 if packet.port is None else min(took_ns, COPY_NS)
                self._ask(stages, partial(self._note_late, packet, stages), wait_ns)
        elif self._seen <= FIRST or at_ns >= self._next_usual_ns:
            self._next_usual_ns = at_ns + EVERY_NS
            self._ask(stages, partial(self._note_usual, packet, took_ns, stages))

    def end(self) -> LateFound:
        """End the recording; return what was found."""
        last_ns = max((due_ns for due_ns, _ in self._held_back), default=0)
        time.sleep(max(0, last_ns - time.time_ns()) / 1e9)
        self._ask_due(last_ns)
        self.recording.end()
        return LateFound(
            late=self.late,
            explained=self.explained,
            lost=self.lost,
            recorded=self.recording.done,
            failed=self.recording.failed,
        )

    def explained_usual(self) -> list[Explained]:
        """Return the usual packets that were looked at, with the causes of what they took more."""
        found = []
        for seq, _, each in self._usual:
            if (expected := self._expected_of(each.segments)) is not None:
                found.append(explain(seq, each, expected))
        return found

    def _look_for(self, seq: int) -> None:
        """Ask who dropped a packet."""
        now_ns = time.time_ns()
        if self.probe is not None and _has_room(self._looked_for, now_ns):
            then = partial(self._note_lost, seq)
            self.recording.ask_drops(self._began_ns, now_ns, then)

    def _note_lost(self, seq: int, drops: list[Drop]) -> None:
        passages = self._passages(seq, self._began_ns, time.time_ns())
        found = LostPacket(seq, last_drops(drops).get((self.probe or 0, seq)), passages)
        self.lost.append(found)
        for each in self.listeners:
            each.lost(found)

    def _median(self) -> float | None:
        return self._sorted[len(self._sorted) // 2] if self._sorted else None

    def _count(self, took_ns: int) -> None:
        if len(self._recent) == RECENT:
            self._sorted.remove(self._recent[0])
        self._recent.append(took_ns)
        insort(self._sorted, took_ns)

    def _ask(
        self, stages: list[Stage], then: Callable[[CpuWindow], None], wait_ns: int = 0
    ) -> None:
        """Ask for the records around a packet, so long after its end."""
        start_ns, end_ns = stages[0].start_ns, stages[-1].end_ns
        ask = partial(self.recording.ask, start_ns - BEFORE_NS, end_ns + AFTER_NS, then)
        self._held_back.append((end_ns + wait_ns, ask))
        self._ask_due(time.time_ns())

    def _ask_due(self, now_ns: int) -> None:
        for due_ns, ask in [*self._held_back]:
            if due_ns <= now_ns:
                self._held_back.remove((due_ns, ask))
                ask()

    def _note_usual(
        self, packet: PingPacket, took_ns: int, stages: list[Stage], recorded: CpuWindow
    ) -> None:
        self._usual.append((packet.seq, took_ns, self._watched(packet, stages, recorded)))

    def _note_late(self, packet: PingPacket, stages: list[Stage], recorded: CpuWindow) -> None:
        expected = self._expected_of(len(stages))
        if expected is None:
            return
        found = explain(packet.seq, self._watched(packet, stages, recorded), expected)
        self.explained.append(found)
        for each in self.listeners:
            each.explained(found)

    def _watched(
        self, packet: PingPacket, stages: list[Stage], recorded: CpuWindow
    ) -> WatchedPacket:
        holds = tcp_holds_of(packet, stages, self.service_port, recorded)
        passages = self._passages(packet.seq, stages[0].start_ns, stages[-1].end_ns)
        return WatchedPacket.of_one(stages, recorded, holds, passages)

    def _passages(self, seq: int, from_ns: int, to_ns: int) -> list[Passage]:
        """Return how a packet passed links of this machine that have ended by a time."""
        if self.links is None or self.probe is None:
            return []
        return self.links.of_packet(WantedPacket(self.probe, seq, from_ns, to_ns))

    def _expected_of(self, segments: int) -> Usual | None:
        """Return what usual packets take; it is worked out anew when there are more of them."""
        median = self._median() or 0
        near = [
            each
            for _, took_ns, each in self._usual
            if took_ns <= median + NEAR_NS and each.segments == segments
        ]
        packets, known = self._expected.get(segments, (0, None))
        if known is not None and len(near) < GROWN * packets:
            return known
        found = usual_of(near, segments)
        if found is not None:
            self._expected[segments] = len(near), found
        return found


def _has_room(looked_at: deque[int], at_ns: int) -> bool:
    """Return True, and note it, if fewer than the most packets a second were looked at."""
    full = len(looked_at) == MOST_LATE_PER_S
    if full and at_ns - looked_at[0] < 1_000_000_000:
        return False
    looked_at.append(at_ns)
    return True


def stages_of(packet: PingPacket, program: frozenset[int | str]) -> list[Stage] | None:
    """Return the segments of an answered packet that a program sent; None without its times.

    Of a request to a service the opening of its connection is one of them, of no length if it was
    open already: so those that open one are compared with those that do not.
    """
    sent_ns, rtt_ns = packet.sent_ns, packet.rtt_user_ns
    if sent_ns is None or rtt_ns is None:
        return None
    begun_ns = sent_ns - packet.opening_ns
    due_ns = begun_ns - max(0, packet.slip_ns or 0)
    before = [Stage(start_ns=due_ns, end_ns=begun_ns, by=program, timer=True)]
    if packet.port is not None:
        before.append(Stage(start_ns=begun_ns, end_ns=sent_ns, by=program))
    left_ns, kernel_ns = packet.left_ns, packet.rtt_kernel_ns
    end_ns = sent_ns + rtt_ns
    if left_ns is None or kernel_ns is None:
        return [*before, Stage(start_ns=sent_ns, end_ns=end_ns, by=program)]
    return [
        *before,
        Stage(start_ns=sent_ns, end_ns=left_ns),
        Stage(start_ns=left_ns, end_ns=left_ns + kernel_ns),
        Stage(start_ns=left_ns + kernel_ns, end_ns=end_ns, by=program),
    ]


def tcp_holds_of(
    packet: PingPacket, stages: Sequence[Stage], service_port: int, recorded: CpuWindow
) -> list[Hold]:
    """Return the times for which TCP held a packet, by what its connection sent again."""
    if packet.port is None:
        return []
    connection = TcpConnection(port=packet.port, service_port=service_port)
    # What is sent again once the answer is here is of no matter to it.
    came_ns = stages[-1].end_ns
    if packet.left_ns is not None and packet.rtt_kernel_ns is not None:
        came_ns = packet.left_ns + packet.rtt_kernel_ns
    sent = [(stage, BOTH) for stage in stages[1:] if stage.start_ns < came_ns]
    again = connection.sent_again(recorded.retransmissions)
    return tcp_holds(sent, again, since_ns=stages[0].end_ns)


def took_of(packet: PingPacket) -> int | None:
    """Return a packet's round trip plus its slip and its handshake; None without an answer."""
    if packet.rtt_user_ns is None:
        return None
    return packet.rtt_user_ns + packet.opening_ns + max(0, packet.slip_ns or 0)


@contextmanager
def explaining(
    sender: Session, within: WithinLab | None, listeners: Sequence[OnLate] = ()
) -> Iterator[WhyWatch]:
    """Record this machine's CPUs for the length of a block, for packets that a session sends.

    `within` is where in a lab they are sent, None outside of labs. Where nobody may record CPUs,
    the recording has failed from the start.
    """
    with recording_cpus() as recording:
        hello = sender.call(Hello()).done
        if hello.clock != _clock_here():
            recording.give_up(OTHER_KERNEL)
        if within is None:
            yield WhyWatch(recording, frozenset({hello.pid}), listeners)
            return
        with closing(within.records(hello.clock)) as links:
            yield WhyWatch(recording, frozenset({within.part}), listeners, links=links)


def _clock_here() -> str:
    """Return the name of the clock of this machine's kernel."""
    session = LOCAL.session()
    try:
        return session.call(Hello()).done.clock
    finally:
        session.close()


@contextmanager
def recording_cpus() -> Iterator[CpuRecording]:
    """Record what this machine's CPUs do for the length of a block.

    Where nobody may do that, the recording has failed from the start.
    """
    session = LOCAL.session()
    try:
        recording = CpuRecording(session)
        recording.await_ready()
        yield recording
    finally:
        session.close()


def process_of(sender: Session) -> int:
    """Return the process of a session's agent; records name its tasks by it."""
    return sender.call(Hello()).done.pid
