"""A recording of what the CPUs of a machine do, by its agent, and windows of it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

from delaylab.agent.events import Event
from delaylab.agent.measuring_requests import Cpus
from delaylab.agent.result import AgentError
from delaylab.agent.session import Session
from delaylab.agent.tables import Rows
from delaylab.agent.wire.cpus import CpusDone
from delaylab.causes.drops import Drop
from delaylab.causes.records import (
    CpuRecord,
    CpuWindow,
    How,
    Retransmission,
    Task,
    What,
    by_cpu,
)

READY_S, END_S = 30.0, 60.0
"""The longest waits: until the programs are attached, and for the last windows."""
OnWindow = Callable[[CpuWindow], None]
OnDrops = Callable[[list[Drop]], None]


class CpuRecording:
    """A recording under way. Windows are answered in the order in which they were asked for.

    It can be read beside other sessions (`ended`, `read`). If it fails, `failed` says why.
    """

    def __init__(self, session: Session, keep: int | None = None) -> None:
        self.session, self.ended = session, False
        self.failed: AgentError | None = None
        self.done: CpusDone | None = None
        self._asked: deque[Callable[[], None]] = deque()
        self._result = session.start(Cpus() if keep is None else Cpus(keep=keep))

    def await_ready(self) -> None:
        """Wait until it records, or has failed."""
        try:
            self.session.event(READY_S)
        except AgentError as error:
            self._fail(error)

    def ask(self, from_ns: int, to_ns: int, then: OnWindow) -> None:
        """Ask for the window between two times in ns since 1970; `then` is called with it."""
        self._ask(self.session.window, from_ns, to_ns, lambda: then(self._window(from_ns, to_ns)))

    def ask_drops(self, from_ns: int, to_ns: int, then: OnDrops) -> None:
        """Ask for the packets that the kernel dropped between two times; `then` gets them."""
        self._ask(self.session.drops, from_ns, to_ns, lambda: then(self._drops()))

    def _ask(
        self,
        order: Callable[[int, int], None],
        from_ns: int,
        to_ns: int,
        then: Callable[[], None],
    ) -> None:
        if self.ended:
            return
        try:
            order(from_ns, to_ns)
            self._asked.append(then)
        except AgentError as error:
            self._fail(error)

    def read(self) -> None:
        """Read once."""
        try:
            self.ended = self.session.poll_done(self._note)
        except AgentError as error:
            self._fail(error)

    def end(self) -> None:
        """Wait for the windows that were asked for, and end the recording."""
        if self.ended:
            return
        try:
            # The agent answers what it was asked before it reads the next order.
            self.session.stop()
            self.session.finish(END_S, self._note)
            self.done = self._result.done
        except AgentError as error:
            self._fail(error)
        self.ended = True

    def give_up(self, why: str) -> None:
        """End the recording, which is of no use, and say why."""
        self.end()
        self.done, self.failed = None, self.failed or AgentError(why)

    def _fail(self, error: AgentError) -> None:
        self.ended, self.failed = True, error

    def _note(self, event: Event) -> None:
        if event.recorded is not None and self._asked:
            self._asked.popleft()()

    def _window(self, from_ns: int, to_ns: int) -> CpuWindow:
        return CpuWindow(
            start_ns=from_ns,
            end_ns=to_ns,
            records=by_cpu(_records(self._result.take_rows("cpus"))),
            tasks=dict(_tasks(self._result.take_rows("tasks"))),
            retransmissions=list(_retransmissions(self._result.take_rows("retransmissions"))),
        )

    def _drops(self) -> list[Drop]:
        return [drop for part in self._result.take_rows("drops") for drop in _of_drops(part)]


def _records(parts: list[Rows]) -> Iterator[CpuRecord]:
    for part in parts:
        rows = zip(
            *(part.numbers[name] for name in ("time_ns", "cpu", "task", "other", "number")),
            *(part.numbers[name] for name in ("length_ns", "softirqs", "interrupts")),
            part.texts["what"],
            part.some_texts["how"],
            strict=True,
        )
        for time_ns, cpu, task, other, number, length_ns, softirqs, interrupts, what, how in rows:
            yield CpuRecord(
                time_ns=time_ns,
                cpu=cpu,
                what=What(what),
                how=How(how or ""),
                task=task,
                other=other,
                number=number,
                length_ns=length_ns,
                softirqs=softirqs,
                interrupts=interrupts,
            )


def _of_drops(part: Rows) -> Iterator[Drop]:
    numbers = (part.numbers[name] for name in ("time_ns", "probe", "seq", "cpu"))
    texts = (part.some_texts[name] for name in ("reason", "interface", "lab", "place"))
    rows = zip(*numbers, *texts, strict=True)
    for time_ns, probe, seq, cpu, reason, interface, lab, place in rows:
        yield Drop(
            time_ns=time_ns,
            probe=probe,
            seq=seq,
            cpu=cpu,
            reason=reason,
            interface=interface,
            lab=lab,
            place=place,
        )


def _retransmissions(parts: list[Rows]) -> Iterator[Retransmission]:
    for part in parts:
        rows = zip(
            *(part.numbers[name] for name in ("time_ns", "local_port", "remote_port", "needless")),
            part.some_numbers["first_ns"],
            *(part.some_texts[name] for name in ("lab", "place")),
            strict=True,
        )
        for time_ns, local_port, remote_port, needless, first_ns, lab, place in rows:
            yield Retransmission(
                time_ns=time_ns,
                first_ns=first_ns,
                local_port=local_port,
                remote_port=remote_port,
                needless=bool(needless),
                lab=lab,
                place=place,
            )


def _tasks(parts: list[Rows]) -> Iterator[tuple[int, Task]]:
    for part in parts:
        texts = (part.some_texts[name] for name in ("name", "lab", "place", "group"))
        numbers = (part.numbers[name] for name in ("task", "process", "placed", "agent"))
        rows = zip(*numbers, *texts, strict=True)
        for task, process, placed, agent, name, lab, place, group in rows:
            found = Task(
                process=process,
                name=name or "",
                placed=bool(placed),
                lab=lab,
                place=place,
                of_agent=bool(agent),
                group=group or "",
            )
            yield task, found
