"""The state of a machine meanwhile, by samples: how busy it was, who waited, who took its CPUs.

A sample is about the time since the one before it.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

STEAL = 0.01
"""The share of the CPUs' time that a hypervisor took from which on a machine is disturbed."""
WAITING = 0.1
"""The share of the time in which some task waited for a CPU from which on it is."""
FULL = 0.9
"""The share of the CPUs' time that is busy from which on it is, if its kernel has no PSI."""
MOST = 0.01
"""The largest share of the time for which a quiet machine is disturbed: p99 is not of that."""
ENDED = "ended children of "
"""The beginning of the name of processes that ended, which goes on with that of their parent."""
NAMED = 3
"""The programs that a line names."""
UNKNOWN = -1.0
MACHINE = "machine"
"""The place of the machine's own metrics, in the table of a watch."""
LOOPBACK = "lo."
"""The beginning of the names of metrics of what a system sends to itself, which waits nowhere."""
BYTES = (".rx_bytes", ".tx_bytes")
"""The ends of the names of metrics that count an interface's bytes."""


@dataclass(frozen=True, slots=True)
class MachineThen:
    """The state of a machine over some time.

    Shares are of all CPUs' time; `waiting` is the share of the time in which some task waited for a
    CPU, None if the kernel does not say. `programs` are CPUs by the program that kept them busy.
    """

    since_ns: int
    until_ns: int
    busy: float
    steal: float
    waiting: float | None
    programs: Mapping[str, float] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """Return the state in words."""
        said = [f"{100 * self.busy:.0f} % busy"]
        if self.waiting is not None:
            said.append(f"tasks waiting for a CPU {100 * self.waiting:.0f} % of the time")
        if self.steal >= STEAL / 2:
            said.append(f"{100 * self.steal:.0f} % stolen by its host")
        return ", ".join([*said, *_named(self.programs)])


@dataclass(frozen=True, slots=True)
class UseBetweenSamples:
    """The use of a machine between two samples of it; None where it is not known.

    `busy`, `steal` and `waiting` are shares. `traffic_bps` is what the busiest interface carried,
    both ways together; loopback does not count.
    """

    since_ns: int
    until_ns: int
    busy: float | None
    steal: float | None
    waiting: float | None
    traffic_bps: float | None


class Meanwhile:
    """The samples of a machine: shares of each interval, and the programs of each reading.

    Of samples of each CPU those of `cpus` count, by default all.
    """

    def __init__(self, cpus: Collection[int] = ()) -> None:
        self._cpus = {f"cpu{each}" for each in cpus}
        self._times, self._waited = array("q"), UNKNOWN
        self._busy, self._steal, self._waiting = array("d"), array("d"), array("d")
        self._carried: Mapping[str, float] = {}
        self._traffic = array("d")
        self._read = array("q")
        self._programs: list[dict[str, float]] = []

    def take(
        self,
        times_ns: Iterable[int],
        places: Iterable[str | None],
        names: Iterable[str | None],
        values: Iterable[float],
    ) -> None:
        """Add whole samples, by the columns of the table of a watch."""
        at_ns, metrics, carried = 0, dict[str, float](), dict[str, float]()
        for time_ns, place, name, value in zip(times_ns, places, names, values, strict=True):
            if metrics and time_ns != at_ns:
                self.add(at_ns, metrics, carried)
                metrics, carried = {}, {}
            at_ns = time_ns
            if name is None:
                continue
            if place == MACHINE:
                metrics[name] = value
            elif name.endswith(BYTES) and not name.startswith(LOOPBACK):
                interface = f"{name.rpartition('.')[0]} of {place}"
                carried[interface] = carried.get(interface, 0.0) + value
        if metrics:
            self.add(at_ns, metrics, carried)

    def add(
        self, time_ns: int, metrics: Mapping[str, float], carried: Mapping[str, float] | None = None
    ) -> None:
        """Add a sample; samples come in the order of their times.

        `carried` are the bytes that each interface has carried so far, in and out.
        """
        metrics = self._together(metrics)
        passed_us = (time_ns - self._times[-1]) / 1000 if self._times else 0
        waited = metrics.get("pressure.cpu.some_us", UNKNOWN)
        known = UNKNOWN not in (waited, self._waited) and passed_us > 0
        share = min(1.0, max(0.0, (waited - self._waited) / passed_us)) if known else UNKNOWN
        self._waited = waited
        unused = metrics.get("cpu.idle", 0.0) + metrics.get("cpu.iowait", 0.0)
        # A clock of ticks may have none of a short interval.
        ticked = "cpu.idle" in metrics
        self._times.append(time_ns)
        self._busy.append(min(1.0, max(0.0, 1 - unused)) if ticked else UNKNOWN)
        self._steal.append(metrics.get("cpu.steal", UNKNOWN))
        self._waiting.append(share)
        self._traffic.append(self._rate(time_ns, carried or {}))
        if "processes" in metrics:
            self._read.append(time_ns)
            self._programs.append(dict(_programs(metrics)))

    @property
    def seconds(self) -> float:
        """Return the time that is known of."""
        return (self._times[-1] - self._times[0]) / 1e9 if self._times else 0.0

    @property
    def disturbed_s(self) -> float:
        """Return the time for which the machine was disturbed."""
        return sum(until - since for since, until in self._disturbed()) / 1e9

    @property
    def quiet(self) -> bool:
        """Return True if the machine was disturbed for at most a hundredth of the time."""
        return self.disturbed_s <= MOST * self.seconds

    def is_disturbed(self, since_ns: int, until_ns: int) -> bool:
        """Return True if the machine was disturbed at some time between two."""
        return any(until > since_ns and since < until_ns for since, until in self._disturbed())

    def between(self, since_ns: int, until_ns: int) -> MachineThen | None:
        """Return the state between two times, by all samples that have a part of it.

        None if there are none: it was before the first, or after the last.
        """
        places = self._places(since_ns, until_ns)
        return self._state(places) if places else None

    def uses(self, since_ns: int, until_ns: int) -> Iterator[UseBetweenSamples]:
        """Yield the use of the machine for each two samples that have a part of this time."""
        for at in self._places(since_ns, until_ns):
            busy, steal, waiting, traffic = (
                None if of[at] == UNKNOWN else of[at]
                for of in (self._busy, self._steal, self._waiting, self._traffic)
            )
            since, until = self._times[at - 1], self._times[at]
            yield UseBetweenSamples(since, until, busy, steal, waiting, traffic)

    @property
    def span_ns(self) -> tuple[int, int] | None:
        """Return the times of the first and the last sample; None without two."""
        return (self._times[0], self._times[-1]) if len(self._times) > 1 else None

    def _together(self, metrics: Mapping[str, float]) -> Mapping[str, float]:
        """Return metrics of the CPUs as one, where a sample has each of them."""
        if "cpu.idle" in metrics:
            return metrics
        of_each: dict[str, list[float]] = defaultdict(list)
        for name, value in metrics.items():
            cpu, _, column = name.partition(".")
            counts = cpu in self._cpus if self._cpus else cpu[:3] == "cpu" and cpu[3:].isdigit()
            if counts and column in ("idle", "iowait", "steal"):
                of_each[f"cpu.{column}"].append(value)
        return {**metrics, **{name: sum(of) / len(of) for name, of in of_each.items()}}

    def _rate(self, time_ns: int, carried: Mapping[str, float]) -> float:
        """Return what the busiest interface carried since the last sample in bit/s, if known."""
        before, self._carried = self._carried, carried
        passed_ns = time_ns - self._times[-2] if len(self._times) > 1 else 0
        more = [carried[name] - before[name] for name in carried if name in before]
        return max(0.0, 8e9 * max(more) / passed_ns) if more and passed_ns > 0 else UNKNOWN

    def _places(self, since_ns: int, until_ns: int) -> range:
        first = max(1, bisect_right(self._times, since_ns))
        last = min(len(self._times) - 1, bisect_left(self._times, max(until_ns, since_ns + 1)))
        return range(first, last + 1)

    @property
    def whole(self) -> MachineThen | None:
        """Return the state over the whole time, None if it is too short."""
        return self._state(range(1, len(self._times))) if len(self._times) > 1 else None

    @property
    def disturbers(self) -> Mapping[str, float]:
        """Return the CPUs that programs kept busy while the machine was disturbed, most first."""
        spans = list(self._disturbed())
        return self._used(spans)

    @property
    def verdict(self) -> str | None:
        """Return the verdict in a line; None if nothing is known."""
        if len(self._times) < 2:
            return None
        if self.quiet:
            return "quiet"
        what = "tasks waited for a CPU"
        if any(self._steal[each] > STEAL for each in range(1, len(self._times))):
            what += ", or its host ran others (steal),"
        names = _named(self.disturbers)
        who = f"; then ran {', '.join(names)}" if names else ""
        return f"not quiet: {what} for {self.disturbed_s:.1f} of {self.seconds:.1f} s{who}"

    def _state(self, places: range) -> MachineThen | None:
        busy, steal, waiting = (
            self._mean(of, places) for of in (self._busy, self._steal, self._waiting)
        )
        if busy is None:
            return None
        since, until = self._times[places[0] - 1], self._times[places[-1]]
        return MachineThen(since, until, busy, steal or 0.0, waiting, self._used([(since, until)]))

    def _mean(self, of: array[float], places: range) -> float | None:
        """Return the mean over intervals, weighted by their lengths; None if it is not known."""
        known = [each for each in places if of[each] != UNKNOWN]
        lengths = [self._times[each] - self._times[each - 1] for each in known]
        total = sum(lengths)
        if not total:
            return None
        return sum(of[at] * length for at, length in zip(known, lengths, strict=True)) / total

    def _used(self, spans: list[tuple[int, int]]) -> dict[str, float]:
        """Return the CPUs of programs over all readings that have a part of these times."""
        if not self._times:
            return {}
        found: dict[str, float] = defaultdict(float)
        total, before = 0, self._times[0]
        for time_ns, programs in zip(self._read, self._programs, strict=True):
            if any(until > before and since < time_ns for since, until in spans):
                total += time_ns - before
                for name, cpus in programs.items():
                    found[name] += cpus * (time_ns - before)
            before = time_ns
        return {name: each / total for name, each in sorted(found.items(), key=lambda it: -it[1])}

    def _disturbed(self) -> Iterator[tuple[int, int]]:
        """Yield the intervals in which the machine was disturbed."""
        for at in range(1, len(self._times)):
            waiting = self._waiting[at]
            crowded = self._busy[at] > FULL if waiting == UNKNOWN else waiting > WAITING
            if crowded or self._steal[at] > STEAL:
                yield self._times[at - 1], self._times[at]


def _programs(metrics: Mapping[str, float]) -> Iterator[tuple[str, float]]:
    for metric, cpus in metrics.items():
        first, _, rest = metric.partition(".")
        if first == "program":
            processes, _, name = rest.partition(".")
            yield (ENDED + name if processes == "0" else name), cpus


def _named(programs: Mapping[str, float]) -> list[str]:
    return [f"{name} {cpus:.2f} CPUs" for name, cpus in list(programs.items())[:NAMED]]
