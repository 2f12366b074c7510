"""Records of CPUs for tests: a sender (10), a responder (20), a hog (30) on two CPUs."""

from __future__ import annotations

from collections.abc import Mapping

from delaylab.causes.records import CpuRecord, CpuWindow, How, Task, What, by_cpu

SENDER, RESPONDER, HOG, KSOFTIRQD = 10, 20, 30, 15
TASKS: Mapping[int, Task] = {
    SENDER: Task(process=SENDER, name="delaylab-agent", of_agent=True),
    RESPONDER: Task(process=RESPONDER, name="node.two", lab="lab", place="node.two"),
    HOG: Task(process=HOG, name="hog"),
    KSOFTIRQD: Task(process=KSOFTIRQD, name="ksoftirqd/1"),
}
US = 1_000


class Cpus:
    """Records of CPUs as they are made, in µs; each CPU counts its switches."""

    def __init__(self) -> None:
        self.made: list[CpuRecord] = []
        self._switches: dict[int, int] = {}
        self._on: dict[int, int] = {}

    def switch(
        self,
        at_us: int,
        cpu: int,
        to: int,
        how: How = How.ASLEEP,
        *,
        softirqs_us: int = 0,
        ran_us: int = 0,
    ) -> None:
        """Have a CPU go to a task; the one before it leaves as `how` says.

        It has run for `ran_us` in its life; the idle task since it went idle.
        """
        number = self._switches[cpu] = self._switches.get(cpu, 0) + 1
        before, self._on[cpu] = self._on.get(cpu, 0), to
        self.made.append(
            CpuRecord(
                time_ns=at_us * US,
                cpu=cpu,
                what=What.SWITCH,
                how=how,
                task=to,
                other=before,
                number=number,
                length_ns=ran_us * US,
                softirqs=softirqs_us * US // 64,
            )
        )

    def hide(self, cpu: int, to: int) -> None:
        """Have a CPU go to a task, which nobody sees."""
        self._switches[cpu] += 1
        self._on[cpu] = to

    def wake(self, at_us: int, cpu: int, task: int, how: How = How.BY_TASK) -> None:
        """Have what runs on a CPU, or interrupts it, wake a task."""
        self._add(at_us, cpu, What.WAKING, how, task, self._on[cpu])

    def softirq(self, until_us: int, cpu: int, took_us: int) -> None:
        """Have a long softirq end."""
        self.made.append(
            CpuRecord(
                time_ns=until_us * US,
                cpu=cpu,
                what=What.SOFTIRQ,
                number=3,
                length_ns=took_us * US,
            )
        )

    def reclaim(self, until_us: int, cpu: int, task: int, took_us: int) -> None:
        """Have a task find the memory that it looked for."""
        self.made.append(
            CpuRecord(
                time_ns=until_us * US,
                cpu=cpu,
                what=What.RECLAIM,
                task=task,
                length_ns=took_us * US,
            )
        )

    def signal(self, at_us: int, cpu: int, number: int, to: int, by: int) -> None:
        """Have a task send a signal."""
        self._add(at_us, cpu, What.SIGNAL, How.NONE, to, by, number)

    def recorded(self, end_us: int) -> CpuWindow:
        """Return all of it as a window from 0 on."""
        records = by_cpu(self.made)
        return CpuWindow(start_ns=0, end_ns=end_us * US, records=records, tasks=TASKS)

    def _add(
        self, at_us: int, cpu: int, what: What, how: How, task: int, other: int, number: int = 0
    ) -> None:
        self.made.append(
            CpuRecord(
                time_ns=at_us * US,
                cpu=cpu,
                what=what,
                how=how,
                task=task,
                other=other,
                number=number,
            )
        )
