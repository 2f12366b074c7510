"""Requests whose answers have tables, which are checked by what was asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from delaylab.agent.table_schemas import Schema, narrowed
from delaylab.agent.wire import cpus, loads, tapping
from delaylab.agent.wire import measuring as wire
from delaylab.agent.wire.tapping import TapDone
from delaylab.points import LEGS, SOCKET_POINTS
from delaylab.verdicts.meanwhile import MACHINE

MOST_STAMPS = 1 << 23
"""The most stamps that a reflector or a tap sends of a probe of any number of packets."""
OF_REFLECTED = 5
"""The stamps of a packet at a reflector: two of the request, three of the reply."""
MOST_REPEATS = 1 << 20
"""The most rows of the table `repeats`, unless the request says another number."""
METRICS_OF_MACHINE, METRICS_OF_PLACE = 20_000, 10_000
"""The most rows of the table `hosts` at one time: of the machine, and of each place."""
MOST_DEEDS = 1 << 28
"""The most records of CPUs that are sent of one recording."""
MOST_CPUS = 8192
"""The most CPUs of a machine: of Linux itself on x86-64 (NR_CPUS)."""
SPARE_SAMPLES = 100
"""Samples that may come ahead of time: clocks of virtual machines are not this one's."""


def _only(probe: int, packets: int) -> dict[str, tuple[int, int]]:
    """Return the numbers of a probe's packets; 0 stands for any probe, and any number of them."""
    found = {"probe": (probe, probe)} if probe else {}
    return found | ({"seq": (0, packets - 1)} if packets else {})


@dataclass(frozen=True, kw_only=True)
class Probe(wire.Probe):
    """The request to send a probe's packets; its tables are of these."""

    # A packet that counted as lost gets another row if its reply comes late.
    keys: ClassVar[Mapping[str, Sequence[str]]] = {
        "packets": ("probe", "seq"),
        "exchanges": ("probe", "seq"),
    }
    stamps: Sequence[str] = SOCKET_POINTS

    def most_rows(self, table: str, after_s: float) -> int | None:
        """Return the rows of a table: two of a packet's fate, one of each of its stamps."""
        del after_s
        stamps = len(LEGS) * len(self.stamps) * self.count
        most = {"packets": 2 * self.count, "stamps": stamps, "exchanges": self.count}
        return most.get(table)

    def schema(self, table: str) -> Schema:
        """Return the schema of a table of the packets that are sent."""
        seqs = self.first_seq, self.first_seq + self.count - 1
        numbers = {"probe": (self.probe, self.probe), "seq": seqs}
        return narrowed(table, numbers, {"point": SOCKET_POINTS})

    def once(self, table: str) -> Mapping[str, int] | None:
        """Return that a packet is stamped once at each point."""
        return {} if table == "stamps" else None


class Reflect(wire.Reflect):
    """The request to send a probe's packets back; its table has their stamps."""

    def most_rows(self, table: str, after_s: float) -> int | None:
        """Return the rows of a table: the stamps of each packet, once."""
        del after_s
        return (OF_REFLECTED * self.packets or MOST_STAMPS) if table == "stamps" else None

    def schema(self, table: str) -> Schema:
        """Return the schema of a table of the probe's packets."""
        return narrowed(table, _only(self.probe, self.packets), {"point": SOCKET_POINTS})

    def once(self, table: str) -> Mapping[str, int] | None:
        """Return that a packet is stamped once at each point."""
        return {} if table == "stamps" else None


@dataclass(frozen=True, kw_only=True)
class Tap(tapping.Tap):
    """The request to stamp a probe's packets at interfaces, or at sockets; its tables have them."""

    repeats: int = MOST_REPEATS

    def most_rows(self, table: str, after_s: float) -> int | None:
        """Return the rows of a table: one of each packet by leg and point, and so many repeats."""
        del after_s
        stamps = len(LEGS) * len(self._points) * self.filter.packets or MOST_STAMPS
        most = {"stamps": stamps, "repeats": self.repeats, "segments": self.segments}
        return most.get(table)

    def schema(self, table: str) -> Schema:
        """Return the schema of a table of the probe's packets at the points of its interfaces."""
        numbers = _only(self.filter.probe, self.filter.packets)
        return narrowed(table, numbers, {"point": self._points})

    def once(self, table: str) -> Mapping[str, int] | None:
        """Return that a packet is stamped once at each interface: two may be one point."""
        return Counter(self._points) if table == "stamps" else None

    def read(self, done: object) -> TapDone:
        """Return the answer; raise ValueError if it is not of these interfaces."""
        found = super().read(done)
        if [each.point for each in found.interfaces] != self._points:
            raise ValueError(f"it is not of {', '.join(self._points)}")
        return found

    @property
    def _points(self) -> list[str]:
        at_sockets = [self.sockets.point] if self.sockets else []
        return [each.point for each in self.interfaces] + at_sockets


class Watch(wire.Watch):
    """The request to record the state of the machine and of places; its table has their metrics."""

    def most_rows(self, table: str, after_s: float) -> int | None:
        """Return the rows of a table: at each interval so many metrics of each place."""
        if table != "hosts":
            return None
        samples = round(after_s * 1e9 / self.interval_ns) + SPARE_SAMPLES
        return samples * (METRICS_OF_MACHINE + METRICS_OF_PLACE * len(self.places))

    def schema(self, table: str) -> Schema:
        """Return the schema of a table of the machine and the watched places."""
        return narrowed(table, {}, {"place": [MACHINE, *(each.name for each in self.places)]})


class Hiccups(wire.Hiccups):
    """The request to spin on all CPUs; its tables have the longest hiccups and the metrics."""

    def most_rows(self, table: str, after_s: float) -> int | None:
        """Return the rows of a table: so many hiccups of each CPU, so many metrics a second."""
        samples = round(after_s) + SPARE_SAMPLES
        most = {"hiccups": self.longest * MOST_CPUS, "hosts": samples * METRICS_OF_MACHINE}
        return most.get(table)

    def schema(self, table: str) -> Schema:
        """Return the schema of a table, which is of the machine alone."""
        return narrowed(table, {}, {"place": [MACHINE]})


class Cpus(cpus.Cpus):
    """The request to record what CPUs do; its tables have the windows that are asked for."""

    def most_rows(self, table: str, after_s: float) -> int | None:
        """Return the rows of a table: windows may be asked for again and again."""
        del after_s
        return MOST_DEEDS if table in ("cpus", "tasks", "retransmissions", "drops") else None


@dataclass(frozen=True, kw_only=True)
class Compute(loads.Compute):
    """The request to do arithmetic; its table has the progress."""

    every_ns: int = 5_000_000

    def most_rows(self, table: str, after_s: float) -> int | None:
        """Return the rows of a table: one for each interval that has passed, and the last one."""
        if table != "progress":
            return None
        return min(self.units, round(2 * after_s * 1e9 / self.every_ns)) + SPARE_SAMPLES
