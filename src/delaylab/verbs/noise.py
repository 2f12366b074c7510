"""The verb `noise`: is this machine quiet enough, and who disturbs it?"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING

from delaylab.agent.measuring_requests import Hiccups
from delaylab.agent.result import Result
from delaylab.agent.stream import readable
from delaylab.agent.wire.measuring import HiccupsDone
from delaylab.io.interrupts import deferred
from delaylab.machines import LOCAL
from delaylab.units import Duration
from delaylab.verbs.time_of_day import time_of_day
from delaylab.verdicts.quiet import ENDED, Hiccup, Noise, NoiseOfCpu, share, span

if TYPE_CHECKING:
    from rich.console import Console

    from delaylab.agent.session import Session
    from delaylab.io.values import JsonObject

READY_S, END_S = 20, 60
LONGEST = 20
"""The hiccups of each CPU that are kept."""
SHOWN, NAMED = 3, 5
"""The hiccups, and the programs and control groups, that are printed."""
Named = defaultdict[str, float]
ByCpu = defaultdict[int, Named]
"""Seconds by name, and by CPU and name."""


def _named() -> Named:
    return defaultdict(float)


def _by_cpu() -> ByCpu:
    return defaultdict(_named)


@dataclass
class Seconds:
    """The seconds that programs, control groups and the kernel took, by the agent's samples.

    Those of `windows` are of programs by CPU, between the times before and after each.
    """

    programs: Named = field(default_factory=_named)
    groups: Named = field(default_factory=_named)
    of_cpus: ByCpu = field(default_factory=_by_cpu)
    on_cpus: ByCpu = field(default_factory=_by_cpu)
    times_ns: list[int] = field(default_factory=list)
    windows: list[ByCpu] = field(default_factory=list)

    def add(self, time_ns: int, metric: str, value: float) -> None:
        """Add one metric of a sample; samples come in the order of their times."""
        if time_ns != self.times_ns[-1]:
            self.times_ns.append(time_ns)
            self.windows.append(_by_cpu())
        first, _, rest = metric.partition(".")
        if first == "program":
            # Those that still run are in the metrics of CPUs, with all of their time.
            processes, _, name = rest.partition(".")
            if processes == "0":
                self.programs[ENDED + name] += self._of(value)
        elif first == "group":
            self.groups[rest] += self._of(value)
        elif first.startswith("cpu") and first[3:].isdecimal():
            self._add_of_cpu(int(first[3:]), rest, value)

    def _add_of_cpu(self, cpu: int, what: str, value: float) -> None:
        kind, _, name = what.partition(".")
        if kind == "program":
            self.programs[name] += value
            self.on_cpus[cpu][name] += value
            self.windows[-1][cpu][name] += value
        elif kind in ("steal", "softirq"):
            self.of_cpus[cpu][kind] += self._of(value)

    def _of(self, share_of_time: float) -> float:
        """Return the seconds of a share of the time since the sample before."""
        return share_of_time * (self.times_ns[-1] - self.times_ns[-2]) / 1e9

    def at(self, cpu: int, time_ns: int) -> Mapping[str, float]:
        """Return the seconds of programs on a CPU in the window that has this time."""
        window = bisect_right(self.times_ns, time_ns) - 1
        return self.windows[window][cpu] if 0 <= window < len(self.windows) else {}


def measure(lasting: Duration) -> Noise:
    """Return the noise of this machine for some time; Ctrl-C ends it early.

    Raises KeyboardInterrupt at a Ctrl-C before it began, and at a second one.
    """
    session = LOCAL.session()
    result: Result[HiccupsDone] | None = None
    interrupted = False
    try:
        try:
            # A Ctrl-C from here on ends it with what was seen.
            with deferred():
                result = session.start(Hiccups(longest=LONGEST))
                session.event(READY_S)
            _wait(session, time.monotonic() + lasting.seconds)
        except KeyboardInterrupt:
            if result is None:
                raise
            interrupted = True
        session.stop()
        session.finish(END_S)
    finally:
        session.close()
    return noise_of(result, interrupted=interrupted)


def _wait(session: Session, until_s: float) -> None:
    """Wait for a time. Raise AgentError if the request ends."""
    while (left_s := until_s - time.monotonic()) > 0:
        if readable(session, left_s):
            # What was read of a stream must not be lost to a Ctrl-C.
            with deferred():
                session.check()


def noise_of(result: Result[HiccupsDone], *, interrupted: bool = False) -> Noise:
    """Return what an agent found."""
    done = result.done
    seconds = Seconds(times_ns=[done.began_ns])
    for part in result.rows("hosts"):
        columns = part.numbers["time_ns"], part.texts["metric"], part.fractions["value"]
        for time_ns, metric, value in zip(*columns, strict=True):
            seconds.add(time_ns, metric, value)
    cpus = [
        NoiseOfCpu(
            cpu=each.cpu,
            watched_s=each.watched_ns / 1e9,
            lost_s=each.lost_ns / 1e9,
            longest_ns=each.longest_ns,
            counts=dict(zip(done.sizes_ns, each.counts, strict=False)),
            interrupts=each.interrupts,
            steal_s=seconds.of_cpus[each.cpu]["steal"],
            softirq_s=seconds.of_cpus[each.cpu]["softirq"],
            programs=seconds.on_cpus[each.cpu],
        )
        for each in done.cpus
    ]
    longest = (
        Hiccup(cpu, time_ns, took_ns, seconds.at(cpu, time_ns))
        for part in result.rows("hiccups")
        for cpu, time_ns, took_ns in zip(
            *(part.numbers[name] for name in ("cpu", "time_ns", "took_ns")), strict=True
        )
    )
    return Noise(
        seconds=(done.ended_ns - done.began_ns) / 1e9,
        cpus=cpus,
        longest=sorted(longest, key=lambda hiccup: -hiccup.took_ns),
        programs=seconds.programs,
        groups=seconds.groups,
        interrupts={each.name: each.count for each in done.interrupts},
        throttled=done.throttled,
        throttled_s=done.throttled_ns / 1e9,
        interrupted=interrupted,
    )


def as_json(noise: Noise) -> JsonObject:
    """Return the noise as JSON values, for scripts. Times are in seconds or, as named, in ns."""
    return {
        "quiet": noise.quiet,
        "verdict": noise.verdict,
        "seconds": noise.seconds,
        "interrupted": noise.interrupted,
        "longest_ns": noise.longest_ns,
        "cpus": [_cpu_json(cpu, noise) for cpu in noise.cpus],
        "hiccups": [
            {
                "cpu": hiccup.cpu,
                "time_ns": hiccup.time_ns,
                "took_ns": hiccup.took_ns,
                "programs_s": dict(_most(hiccup.programs)),
            }
            for hiccup in noise.longest
        ],
        "programs_s": dict(_most(noise.programs)),
        "groups_s": dict(_most(noise.groups)),
        "interrupts": dict(noise.interrupts),
        "throttled": {"times": noise.throttled, "seconds": noise.throttled_s},
    }


def _cpu_json(cpu: NoiseOfCpu, noise: Noise) -> JsonObject:
    return {
        "cpu": cpu.cpu,
        "quiet": cpu.quiet,
        "watched_s": cpu.watched_s,
        "lost_s": cpu.lost_s,
        "longest_ns": cpu.longest_ns,
        "counts": [{"at_least_ns": ns, "hiccups": count} for ns, count in cpu.counts.items()],
        "mostly": noise.cause(cpu),
        "programs_s": dict(_most(cpu.programs)),
        "steal_s": cpu.steal_s,
        "softirq_s": cpu.softirq_s,
        "interrupts": cpu.interrupts,
    }


def print_noise(noise: Noise, console: Console) -> None:
    """Print the hiccups of each CPU, who took CPU time, and the verdict."""
    from rich.table import Table  # noqa: PLC0415  JSON needs none of it

    table = Table(box=None, pad_edge=False)
    titles = ("CPU", "LOST", "LONGEST", "≥10 µs", "≥0.1 ms", "≥1 ms", "≥10 ms", "STEAL", "IRQ/s")
    for title in titles:
        table.add_column(title, justify="right")
    for cpu in noise.cpus:
        table.add_row(
            str(cpu.cpu),
            share(cpu.lost),
            span(cpu.longest_ns),
            *map(str, cpu.classes),
            share(cpu.steal_s / noise.seconds),
            f"{cpu.interrupts / noise.seconds:.0f}",
        )
    console.print(table)
    if noise.interrupted:
        console.print(f"interrupted after {noise.seconds:.1f} s")
    for line in chain(_longest(noise), _takers(noise), _others(noise)):
        console.print(line)
    console.print(noise.verdict, soft_wrap=True)


def _longest(noise: Noise) -> Iterable[str]:
    """Yield a line for each of the longest hiccups, with who ran on its CPU in that second."""
    for hiccup in noise.longest[:SHOWN]:
        line = f"{time_of_day(hiccup.time_ns)}  {span(hiccup.took_ns)} on CPU {hiccup.cpu}"
        if hiccup.program:
            name, seconds = hiccup.program
            line += f", where {name} ran for {seconds:.2f} s about then"
        yield line


def _takers(noise: Noise) -> Iterable[str]:
    """Yield a line for each program and control group that took CPU time, the most first."""
    for kind, found in (("program", noise.programs), ("control group", noise.groups)):
        for name, seconds in _most(found)[:NAMED]:
            line = f"{kind} {name}: {seconds:.2f} s of CPU time"
            on = [cpu for cpu in noise.cpus if kind == "program" and name in cpu.programs]
            yield line + "".join(f", {cpu.programs[name]:.2f} on CPU {cpu.cpu}" for cpu in on[:4])


def _others(noise: Noise) -> Iterable[str]:
    """Yield a line on throttling, and one on interrupts."""
    if noise.throttled:
        times = f"{noise.throttled} times, for {noise.throttled_s:.2f} s in all"
        yield f"throttled by the CPU quota of its control group: {times}"
    if noise.interrupts:
        each = (f"{name} {n / noise.seconds:.0f}" for name, n in noise.interrupts.items())
        yield f"interrupts a second: {', '.join(each)}"


def _most(seconds: Mapping[str, float]) -> list[tuple[str, float]]:
    return sorted(seconds.items(), key=lambda item: -item[1])
