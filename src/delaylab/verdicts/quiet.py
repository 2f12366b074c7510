"""The verdict on a machine: is it quiet enough, and who takes its CPUs' time?

A program with a hiccup did not run for some time: another program had its CPU, an interrupt was
handled, the host of a virtual machine gave the CPU to others, or a quota was used up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

MOST_LOST = 0.001
"""The largest share of a CPU's time that hiccups take on a quiet machine.

Hiccups then meet at most about one packet in 1000: p99 is not theirs.
"""
LONGEST_NS = 10_000_000
"""The length of a hiccup that a quiet machine does not have, however rare it is."""
CLASSES_NS = (10_000, 100_000, 1_000_000, 10_000_000)
"""The shortest hiccup of each class of a table."""
HALF = 0.5
"""The least share of the lost time that a cause explains which is named as the main one."""
HOST, QUOTA = "while the host ran others (steal)", "by the CPU quota of its control group"
SOFTIRQS = "while the kernel worked after interrupts (softirq)"

ENDED = "children of "
"""The beginning of the name of processes that ended, which goes on with that of their parent."""


@dataclass(frozen=True)
class Hiccup:
    """A time for which a thread did not run; the programs are those of that second, on its CPU."""

    cpu: int
    time_ns: int
    took_ns: int
    programs: Mapping[str, float] = field(default_factory=dict)

    @property
    def program(self) -> tuple[str, float] | None:
        """Return the program that took most time of its CPU in that second, and its seconds."""
        return _first(self.programs)


@dataclass(frozen=True)
class NoiseOfCpu:
    """The hiccups on one CPU, and the seconds of it that others took.

    `counts` are by the shortest hiccup of each size in ns.
    """

    cpu: int
    watched_s: float
    lost_s: float
    longest_ns: int
    counts: Mapping[int, int]
    interrupts: int = 0
    steal_s: float = 0.0
    softirq_s: float = 0.0
    programs: Mapping[str, float] = field(default_factory=dict)

    @property
    def lost(self) -> float:
        """Return the share of the time that hiccups took."""
        return self.lost_s / self.watched_s if self.watched_s else 0.0

    @property
    def quiet(self) -> bool:
        """Return True if this CPU is quiet enough."""
        return self.lost <= MOST_LOST and self.longest_ns < LONGEST_NS

    @property
    def classes(self) -> tuple[int, ...]:
        """Return the number of hiccups of each class."""
        found = Counter[int]()
        for least_ns, count in self.counts.items():
            found[max(each for each in CLASSES_NS if each <= least_ns)] += count
        return tuple(found[each] for each in CLASSES_NS)

    def cause(self, throttled_s: float = 0.0) -> str | None:
        """Return what took at least half of the lost time, if one cause did."""
        causes = {f"while {name} ran": seconds for name, seconds in self.programs.items()}
        causes |= {HOST: self.steal_s, QUOTA: throttled_s, SOFTIRQS: self.softirq_s}
        first = _first(causes)
        return first[0] if first and first[1] >= HALF * self.lost_s > 0 else None


@dataclass(frozen=True)
class Noise:
    """The noise of a machine over some time.

    `programs` and `groups` are seconds of CPU time, `interrupts` numbers by source.
    """

    seconds: float
    cpus: Sequence[NoiseOfCpu]
    longest: Sequence[Hiccup] = ()
    programs: Mapping[str, float] = field(default_factory=dict)
    groups: Mapping[str, float] = field(default_factory=dict)
    interrupts: Mapping[str, int] = field(default_factory=dict)
    throttled: int = 0
    throttled_s: float = 0.0
    interrupted: bool = False

    @property
    def quiet(self) -> bool:
        """Return True if all CPUs are quiet enough."""
        return all(cpu.quiet for cpu in self.cpus)

    @property
    def longest_ns(self) -> int:
        """Return the length of the longest hiccup."""
        return max((cpu.longest_ns for cpu in self.cpus), default=0)

    def cause(self, cpu: NoiseOfCpu) -> str | None:
        """Return what took at least half of the lost time of a CPU, if one cause did.

        On which CPU processes ran that have ended is not known, so they come last.
        """
        ended = {name: s for name, s in self.programs.items() if name.startswith(ENDED)}
        found = cpu.cause(self.throttled_s / len(self.cpus))
        return found or NoiseOfCpu(cpu.cpu, 0.0, cpu.lost_s, 0, {}, programs=ended).cause()

    @property
    def verdict(self) -> str:
        """Return the verdict in a line."""
        worst = max(self.cpus, key=lambda cpu: (cpu.lost, cpu.longest_ns))
        longest = span(self.longest_ns)
        if self.quiet:
            most = f"at most {share(worst.lost)} of a CPU's time lost"
            return f"quiet: {most}, longest hiccup {longest}"
        if worst.lost <= MOST_LOST:
            worst = max(self.cpus, key=lambda cpu: cpu.longest_ns)
            what = f"a hiccup of {longest} on CPU {worst.cpu}"
        else:
            what = f"{share(worst.lost)} of the time lost on CPU {worst.cpu}"
            cause = self.cause(worst)
            what += f", mostly {cause}" if cause else ""
        may_be = "measured here may be this machine's"
        return f"not quiet: {what}; a delay under about {longest} {may_be}"


def _first(seconds: Mapping[str, float]) -> tuple[str, float] | None:
    """Return the one with most seconds, and these."""
    return max(seconds.items(), key=lambda item: item[1], default=None)


def share(value: float) -> str:
    """Return a share in per cent with two digits that count."""
    percent = 100 * value
    if not percent:
        return "0 %"
    digits = 0 if percent >= 10 else 1 if percent >= 1 else 2 if percent >= 0.1 else 3
    return f"{percent:.{digits}f} %"


def span(ns: int) -> str:
    """Return a time in the unit that fits, with two digits that count."""
    for unit, size in (("s", 10**9), ("ms", 10**6), ("µs", 10**3)):
        if ns >= size:
            value = ns / size
            return f"{value:.1f} {unit}" if value < 9.95 else f"{value:.0f} {unit}"
    return f"{ns} ns"
