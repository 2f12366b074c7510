"""The way back through a packet's time: from its arrival to its sending, task by task.

A packet is in the hands of a task, or of the kernel on a CPU. The walk goes back in time from the
task that received the packet. While a task ran, the time is its own; while it waited for a CPU, the
time is of whoever had that CPU; while it slept, the packet was with whoever woke it, and the walk
goes on there. So chains are followed: late because ksoftirqd waited because a program ran.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import takewhile

from delaylab.causes.cpus import CpuTime, LongInterrupt, Stretch
from delaylab.causes.holds import OF_LINKS, Hold, holds_within
from delaylab.causes.mended import mended
from delaylab.causes.pieces import ON_CPU, Cause, CausePiece, Stage
from delaylab.causes.records import IDLE, CpuRecord, CpuWindow, How, Task, What, is_of, labs_of
from delaylab.causes.tasks import SLEEPS, InState, State, reclaims, stopper, timeline

STEPS = 5_000
"""The most steps back through one segment; a walk that needs more goes in a circle."""
CHAIN = 4
"""The most wakings back over which a task outside of labs may lead to one that has packets."""
LONG_IDLE_NS = 1_000_000
"""The time from which on a task that waits for an idle CPU is held up by its quota, if it has one.

The wake-up of an idle CPU takes some 100 µs at most; a quota is given anew every 100 ms. Kernels
before Linux 6.18 do not say that a task waits for it which was woken meanwhile.
"""
KSOFTIRQD = "ksoftirqd/"
HANDED = frozenset({How.BY_TASK, How.BY_NETWORK})
"""The wakings by which a task hands a packet on; a timer or an interrupt hands none on."""
AT_ONCE_NS = 200_000
"""The time within which a packet that one link lets go comes to the next without a wait."""


@dataclass(slots=True)
class _Place:
    """A place on the way back: a time, and the task that had the packet; None if unknown.

    `receiver` is the task that the packet came to at the end of the segment, if that is known.
    `came` is the waking by which a packet came that nobody here had in the segment. With
    `links_known` it is known when links held the packet: what else an engine slept was not for it.
    """

    now_ns: int
    task: int | None
    receiver: int | None = None
    came: CpuRecord | None = None
    links_known: bool = False


class Walker:
    """The CPUs of one kernel in a window, and the ways back through it.

    `lab` is the lab that packets are sent in, None if the tasks of the sender tell it.
    """

    def __init__(self, recorded: CpuWindow, lab: str | None = None) -> None:
        self.recorded = recorded = mended(recorded)
        self.cpus: Mapping[int, CpuTime] = {
            cpu: CpuTime(records, recorded.end_ns) for cpu, records in recorded.records.items()
        }
        self._reclaims = reclaims(recorded)
        self._limited = {
            self._group(each.other)
            for records in recorded.records.values()
            for each in records
            if each.how == How.THROTTLED
        }
        self._timeline = cache(lambda task: timeline(task, recorded))
        self._senders: frozenset[int | str] = frozenset()
        self._lab = lab
        self._labs: set[str] = set()

    def pieces(self, stages: Sequence[Stage], holds: Sequence[Hold] = ()) -> list[list[CausePiece]]:
        """Return the pieces of each segment's time, the last one first; they add up to it.

        The segments follow each other in time. The task that has a packet at the start of one has
        it at the end of the one before. `holds` say what held the packet, whatever any CPU did.
        """
        self._senders = stages[-1].by or frozenset()
        of_sender = labs_of(self.recorded.tasks.values(), self._senders)
        self._labs = of_sender if self._lab is None else {self._lab}
        found: list[list[CausePiece]] = []
        task: int | None = None
        came: CpuRecord | None = None
        for stage in reversed(stages):
            holder, outside = self._holder(stage, task, came)
            place = _Place(stage.end_ns, holder)
            if stage.by is not None and not stage.timer:
                place.receiver = place.task
            lost = Cause.BEYOND if outside else Cause.UNKNOWN
            pieces = self._around(place, stage, list(holds_within(holds, *stage.times)), lost)
            found.append([piece for piece in pieces if piece.ns])
            task, came = place.task, place.came
            if task is not None and task == place.receiver:
                # The receiver ran when the packet came, so that nobody had to wake it.
                task = self._at_work(stage.start_ns, None, without=task) or task
        return found[::-1]

    def _around(
        self, place: _Place, stage: Stage, holds: Sequence[Hold], lost: Cause
    ) -> Iterator[CausePiece]:
        """Yield the pieces back to a segment's start, and the times for which it was held.

        Time for which the trace is lost has the cause `lost`. `holds` come with the last one first.
        """
        place.links_known = any(hold.cause in OF_LINKS for hold in holds)
        for number, hold in enumerate(holds):
            yield from self._all_back(place, replace(stage, start_ns=hold.end_ns), lost)
            yield CausePiece(hold.cause, hold.length_ns, where=hold.where)
            before = holds[number + 1].end_ns if number + 1 < len(holds) else None
            place.now_ns, place.receiver = hold.start_ns, None
            place.task = self._handed_over(hold.start_ns, before)
        yield from self._all_back(place, stage, lost)

    def _all_back(self, place: _Place, stage: Stage, lost: Cause) -> Iterator[CausePiece]:
        yield from self._back(place, stage)
        if place.now_ns > stage.start_ns:
            yield CausePiece(lost, place.now_ns - stage.start_ns, of=place.task or IDLE)
            place.now_ns = stage.start_ns

    def _handed_over(self, time_ns: int, released_ns: int | None) -> int | None:
        """Return the task that ran when a packet came to what held it; None if it is not known.

        `released_ns` is when another link let the packet go before: then the engine itself may have
        handed it over, as the kernel of a router forwards within the engine's own call.
        """
        engine = self._at_work(time_ns, None, engines=True)
        if released_ns is not None and time_ns - released_ns < AT_ONCE_NS and engine is not None:
            return engine
        return self._at_work(time_ns, None, engines=False) or engine

    def _holder(
        self, stage: Stage, task: int | None, came: CpuRecord | None
    ) -> tuple[int | None, bool]:
        """Return the task that had the packet at the end of a segment; True if it was outside.

        `task` and `came` are what the segment after it says.
        """
        if came is not None and self._had_packet(came, stage.start_ns):
            # A server here had it before the kernel's stamp that the segment ends with.
            return came.other, False
        if stage.by is not None or task is None:
            task = self._at_work(stage.end_ns, stage.by) or task
            return task, came is not None and task is None
        known = self.recorded.tasks.get(task)
        if self._labs or known is None or not is_of(known, self._senders):
            return task, False
        # The sender was awake when the packet came, so that nobody had to wake it.
        if (server := self._server_at(stage, without=task)) is not None:
            return server, False
        return (None, True) if self._slept(task, stage) else (task, False)

    def _server_at(self, stage: Stage, without: int) -> int | None:
        """Return the task that ran at a segment's end, and had the packet since its start."""
        at_ns = stage.end_ns
        for cpu, time in self.cpus.items():
            run = time.run_at(at_ns)
            if run is None or run.task in (None, IDLE, without):
                continue
            sent = CpuRecord(time_ns=at_ns, cpu=cpu, what=What.WAKING, other=run.task or IDLE)
            if self._had_packet(sent, stage.start_ns):
                return run.task
        return None

    def _slept(self, task: int, stage: Stage) -> bool:
        """Return True if a task slept in a segment."""
        states = self._timeline(task).before(stage.end_ns)
        return any(
            state.state in SLEEPS
            for state in takewhile(lambda state: state.end_ns > stage.start_ns, states)
        )

    def _back(self, place: _Place, stage: Stage) -> Iterator[CausePiece]:
        """Yield the pieces back to a segment's start; stop the place where the trace is lost."""
        start_ns, timer = stage.start_ns, stage.timer
        for _ in range(STEPS):
            task, now_ns = place.task, place.now_ns
            if now_ns <= start_ns or task is None:
                return
            state = self._timeline(task).at(now_ns)
            if state is None:
                return
            since_ns, reclaim = max(start_ns, state.start_ns), self._reclaim_before(task, now_ns)
            if reclaim is not None and reclaim.end_ns >= now_ns:
                # Whatever it did meanwhile, it looked for memory.
                place.now_ns = max(start_ns, reclaim.start_ns)
                yield CausePiece(Cause.RECLAIM, now_ns - place.now_ns, of=task)
                continue
            if reclaim is not None:
                since_ns = max(since_ns, reclaim.end_ns)
            if state.state == State.ASLEEP:
                yield from self._while_asleep(place, state, start_ns, timer=timer)
                continue
            place.now_ns = since_ns
            if state.state in (State.RUNNING, State.WAITING):
                yield from self._on_cpu(state, task, since_ns, now_ns)
            elif state.state == State.STOPPED:
                by = stopper(task, state.start_ns, self.recorded)
                yield CausePiece(Cause.STOPPED, now_ns - since_ns, by, task)
            elif state.state == State.THROTTLED:
                yield CausePiece(Cause.QUOTA, now_ns - since_ns, of=task)
            elif state.state == State.BLOCKED:
                yield CausePiece(Cause.BLOCKED, now_ns - since_ns, of=task)
            else:
                yield CausePiece(Cause.UNKNOWN, now_ns - since_ns, of=task)

    def _while_asleep(
        self, place: _Place, state: InState, start_ns: int, *, timer: bool
    ) -> Iterator[CausePiece]:
        """Go back over the sleep of a task: to who woke it, else to when it fell asleep."""
        task, now_ns, waking = place.task or IDLE, place.now_ns, state.woken
        since_ns = max(start_ns, state.start_ns)
        if waking is None:
            place.now_ns = since_ns
            if timer and state.cpu is not None:
                # The timer went off while the CPU ran what hides its wakings.
                yield from self._on_cpu(state, task, since_ns, now_ns)
            else:
                yield CausePiece(Cause.UNKNOWN, now_ns - since_ns, of=task)
            return
        known = self.recorded.tasks.get(task)
        of_engine = known is not None and known.of_engine
        if of_engine and place.links_known:
            # No link holds the packet any more: the engine has yet to send it.
            place.now_ns = since_ns
            yield from self._late_timer(waking, task, since_ns, now_ns)
            return
        if waking.how in HANDED and self._had_packet(waking, start_ns):
            place.task = waking.other
            return
        if waking.how == How.BY_NETWORK and (softirq := self._softirq_at(waking)):
            # It may have held the packet since its start, whoever it interrupted.
            since = max(start_ns, softirq.start_ns)
            yield CausePiece(Cause.SOFTIRQ, now_ns - since, waking.other, task, waking.cpu)
            now_ns = place.now_ns = since
        if task == place.receiver or (state.start_ns <= start_ns and not timer):
            # It waited for the packet, which came from somewhere else. In a lab that is no answer.
            place.now_ns, place.task = start_ns, None
            cause = Cause.UNKNOWN if self._labs else Cause.BEYOND
            place.came = None if self._labs else waking
            yield CausePiece(cause, now_ns - start_ns, of=task)
            return
        place.now_ns = since_ns
        if timer:
            yield from self._late_timer(waking, task, since_ns, now_ns)
        elif of_engine:
            yield CausePiece(Cause.LINK, now_ns - since_ns, of=task)
        else:
            yield CausePiece(Cause.TIMER, now_ns - since_ns, of=task)

    def _late_timer(
        self, waking: CpuRecord, task: int, start_ns: int, end_ns: int
    ) -> Iterator[CausePiece]:
        """Yield what held a timer up: what its CPU did meanwhile."""
        for part in self.cpus[waking.cpu].parts(start_ns, end_ns):
            cause = ON_CPU.get(part.to, Cause.IDLE_WAKE if part.task == IDLE else Cause.TIMER)
            yield CausePiece(cause, part.ns, part.task or IDLE, task, waking.cpu)

    def _on_cpu(
        self, state: InState, task: int, start_ns: int, end_ns: int
    ) -> Iterator[CausePiece]:
        """Yield the pieces of a time in which a task ran, or waited for its CPU."""
        cpu = self.cpus.get(state.cpu) if state.cpu is not None else None
        if cpu is None:
            yield CausePiece(Cause.UNKNOWN, end_ns - start_ns, of=task)
            return
        for part in cpu.parts(start_ns, end_ns):
            cause = _cause(part.to, part.task, state, limited=self._group(task) in self._limited)
            yield CausePiece(cause, part.ns, part.task or IDLE, task, state.cpu)

    def _at_work(
        self,
        time_ns: int,
        by: frozenset[int | str] | None,
        without: int = IDLE,
        engines: bool | None = None,
    ) -> int | None:
        """Return the task that ran at a time, and that may have a packet; None if there is none.

        `engines` says if it is a link engine; None if it may be one.
        """
        running = [run.task for cpu in self.cpus.values() if (run := cpu.run_at(time_ns))]
        for task in filter(None, running):
            known = self.recorded.tasks.get(task)
            if known is None or task == without or engines not in (None, known.of_engine):
                continue
            if self._carries(known) if by is None else is_of(known, by):
                return task
        return None

    def _had_packet(self, waking: CpuRecord, start_ns: int) -> bool:
        """Return True if the task that ran at a waking may have had the packet since a time.

        A server of the user's own is in no lab; it was woken by the packet itself, and may have
        slept again since, such as for a timer or a disk.
        """
        seen: set[int] = set()
        wakings = [waking]
        for _ in range(CHAIN + 1):
            earlier: list[CpuRecord] = []
            for each in wakings:
                known = self.recorded.tasks.get(each.other)
                if known is None or each.other == IDLE or each.other in seen:
                    continue
                seen.add(each.other)
                states = self._timeline(each.other).before(each.time_ns)
                if is_of(known, self._senders):
                    if self._sent_then(each, states, start_ns):
                        return True
                elif self._carries(known):
                    return True
                else:
                    earlier += self._handed(states, start_ns)
            wakings = earlier
        return False

    def _sent_then(self, waking: CpuRecord, states: Iterator[InState], start_ns: int) -> bool:
        """Return True if the sender woke a task by a packet that it had at the segment's start.

        What it did after it slept again was for another packet. Outside of labs it hands a packet
        to the network alone; what it wakes otherwise reads its report.
        """
        now = next(states, None)
        by_packet = bool(self._labs) or waking.how == How.BY_NETWORK
        return by_packet and now is not None and now.start_ns <= start_ns

    def _handed(self, states: Iterable[InState], start_ns: int) -> Iterator[CpuRecord]:
        """Yield the wakings by which a task may have got a packet since a time, the last one first.

        A server outside of labs that was awake already has it from then on: it was woken by the
        packet before, and has not come to this one yet.
        """
        for state in states:
            early = state.end_ns < start_ns
            if early and self._labs:
                return
            if state.state in SLEEPS:
                if state.woken and state.woken.how in HANDED:
                    yield state.woken
                if early:
                    return

    def _carries(self, task: Task) -> bool:
        """Return True for a task that handles packets of this lab, or of any if it is not known."""
        if is_of(task, self._senders) or task.name.startswith(KSOFTIRQD):
            return True
        return task.lab is not None and (not self._labs or task.lab in self._labs)

    def _softirq_at(self, waking: CpuRecord) -> LongInterrupt | None:
        """Return the long softirq in which a task was woken, if there was one."""
        return next(
            (
                each
                for each in self.cpus[waking.cpu].interrupts
                if each.softirq and each.start_ns <= waking.time_ns <= each.end_ns
            ),
            None,
        )

    def _group(self, task: int) -> str | int:
        """Return the control group of a task, or what it is a part of if that is not known."""
        known = self.recorded.tasks.get(task)
        return task if known is None else known.group or known.part or known.process

    def _reclaim_before(self, task: int, time_ns: int) -> Stretch | None:
        """Return the last time before another one for which a task looked for memory."""
        found = (each for each in self._reclaims.get(task, ()) if each.start_ns < time_ns)
        return max(found, key=lambda each: each.end_ns, default=None)


def _cause(to: What, task: int | None, state: InState, *, limited: bool) -> Cause:
    """Return the cause of a part of a CPU's time in which a task ran, or waited for the CPU.

    The task's group is `limited` if some of its tasks were seen to be without CPU time.
    """
    if task is None:
        return Cause.UNKNOWN
    if to in ON_CPU:
        return ON_CPU[to]
    if state.state == State.RUNNING:
        return Cause.OWN
    if task != IDLE:
        return Cause.HELD
    long = state.state == State.WAITING and state.length_ns >= LONG_IDLE_NS
    return Cause.QUOTA if long and limited else Cause.IDLE_WAKE
