"""Requests to the agent that measure, work, or load a network (docs/protocol.md), as types."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from delaylab.agent import measuring_replies
from delaylab.agent.requests import Request
from delaylab.agent.table_schemas import Schema, narrowed
from delaylab.agent.tables import check_once
from delaylab.io.values import JsonObject, Message
from delaylab.points import LEGS, SOCKET_POINTS

if TYPE_CHECKING:
    import polars as pl

MOST_STAMPS = 1 << 23
"""The most stamps that a reflector or a tap sends of a probe of any number of packets."""
OF_REFLECTED = 5
"""The stamps of a packet at a reflector: two of the request, three of the reply."""
MOST_REPEATS = 1 << 20
"""The most rows of the table `repeats`, unless the request says another number."""
METRICS_OF_MACHINE, METRICS_OF_PLACE = 20_000, 10_000
"""The most rows of the table `hosts` at one time: of the machine, and of each place."""
MACHINE = "machine"
"""The place of the metrics of the machine itself."""
SPARE_SAMPLES = 100
"""Samples that may come ahead of time: clocks of virtual machines are not this one's."""


def _only(probe: int, packets: int) -> dict[str, tuple[int, int]]:
    """Return the numbers of a probe's packets; 0 stands for any probe, and any number of them."""
    found = {"probe": (probe, probe)} if probe else {}
    return found | ({"seq": (0, packets - 1)} if packets else {})


@dataclass(frozen=True, kw_only=True)
class Probe(Request[measuring_replies.Probe]):
    """Send a probe's packets. Times are in ns, `size` in bytes behind the ICMP or UDP header.

    With `interval_ns` 0 packets are sent as replies come, at most `batch` under way; `timeout_ns`
    is how long they are waited for.

    With `tcp` a packet is the SYN of a connection from the source port `ident` + seq, with `http`
    the GET request of `path` on such a connection; an empty `host` stands for the address.

    With `parts_ns` its tables come in parts while it runs, at most one in that time, as far as
    there is rest between packets. With `pairs` two are sent at once, each two intervals.
    """

    op = "probe"
    reply = measuring_replies.Probe
    # A packet that counted as lost gets another row if its reply comes late.
    keys: ClassVar[Mapping[str, Sequence[str]]] = {"packets": ("probe", "seq")}
    probe: int
    protocol: Literal["icmp", "udp", "tcp", "http"]
    to: str
    source: str | None = None
    port: int = 0
    ident: int = 0
    count: int
    interval_ns: int
    size: int
    timeout_ns: int = 0
    first_seq: int = 0
    linger_ns: int
    late_ns: int
    stamps: Sequence[str] = SOCKET_POINTS
    realtime: bool = False
    batch: int = 0
    mode: Literal["socket", "packet"] = "socket"
    ttl: int | None = None
    tos: int | None = None
    interface: str | None = None
    live: bool = False
    linger_rtt: bool = False
    resolve: bool = False
    hops: int = 0
    tcx: bool = True
    path: str = "/"
    host: str = ""
    parts_ns: int | None = None
    pairs: bool = False

    def most_rows(self, table: str, after_s: float) -> int | None:
        """Return the rows of a table: two of a packet's fate, one of each of its stamps."""
        del after_s
        stamps = len(LEGS) * len(self.stamps) * self.count
        return {"packets": 2 * self.count, "stamps": stamps}.get(table)

    def schema(self, table: str) -> Schema:
        """Return the schema of a table of the packets that are sent."""
        seqs = self.first_seq, self.first_seq + self.count - 1
        numbers = {"probe": (self.probe, self.probe), "seq": seqs}
        return narrowed(table, numbers, {"point": SOCKET_POINTS})

    def check(self, name: str, table: pl.DataFrame) -> None:
        """Raise ValueError if a packet is stamped twice at a point."""
        if name == "stamps":
            check_once(table)


@dataclass(frozen=True, kw_only=True)
class Reflect(Request[measuring_replies.Reflect]):
    """Send a probe's UDP packets back from a port; with `stamps`, stamp them.

    `packets` is how many the probe sends; others have no stamps. 0 is any number. With `tcp` it
    accepts connections and closes them, with `http` it answers 204 on each. It does not stamp
    these.
    """

    op = "reflect"
    reply = measuring_replies.Reflect
    port: int
    ip: int
    stamps: bool
    probe: int
    protocol: Literal["udp", "tcp", "http"] = "udp"
    packets: int = 0

    def most_rows(self, table: str, after_s: float) -> int | None:
        """Return the rows of a table: the stamps of each packet, once."""
        del after_s
        return (OF_REFLECTED * self.packets or MOST_STAMPS) if table == "stamps" else None

    def schema(self, table: str) -> Schema:
        """Return the schema of a table of the probe's packets."""
        return narrowed(table, _only(self.probe, self.packets), {"point": SOCKET_POINTS})

    def check(self, name: str, table: pl.DataFrame) -> None:
        """Raise ValueError if a packet is stamped twice at a point."""
        if name == "stamps":
            check_once(table)


@dataclass(frozen=True)
class TapInterface(Message):
    """An interface to capture at, and the name of its point."""

    name: str
    point: str


@dataclass(frozen=True)
class TapFilter(Message):
    """The packets to capture; 0 in `probe`, `ident` or `port` matches any.

    `packets` is how many the probe sends; others have no stamps. 0 is any number. For `tcp` and
    `http`, `ident` is the source port of the packet with sequence number 0.
    """

    protocol: str
    ip: int
    probe: int = 0
    ident: int = 0
    port: int = 0
    packets: int = 0


@dataclass(frozen=True, kw_only=True)
class Tap(Request[measuring_replies.Taps]):
    """Stamp a probe's packets at interfaces; `pcap` is the path of a file to keep them in.

    With `capture_bytes` they are kept in memory instead, at most so many, and sent as output at the
    end.
    With `parts_ns` stamps come in parts while it runs, at most one in that time. With `together`
    one ring serves all interfaces: hundreds are then set up in milliseconds, and each packet costs
    more. The table `repeats` has at most so many rows.
    """

    op = "tap"
    reply = measuring_replies.Taps
    interfaces: Sequence[TapInterface]
    filter: TapFilter
    pcap: str | None = None
    capture_bytes: int = 0
    tcx: bool = True
    parts_ns: int | None = None
    together: bool = False
    repeats: int = MOST_REPEATS

    def most_rows(self, table: str, after_s: float) -> int | None:
        """Return the rows of a table: one of each packet by leg and point, and so many repeats."""
        del after_s
        stamps = len(LEGS) * len(self.interfaces) * self.filter.packets or MOST_STAMPS
        return {"stamps": stamps, "repeats": self.repeats}.get(table)

    def schema(self, table: str) -> Schema:
        """Return the schema of a table of the probe's packets at the points of its interfaces."""
        numbers = _only(self.filter.probe, self.filter.packets)
        return narrowed(table, numbers, {"point": self._points})

    def check(self, name: str, table: pl.DataFrame) -> None:
        """Raise ValueError if a packet is stamped twice at an interface, on one leg."""
        if name == "stamps":
            check_once(table, Counter(self._points))

    def read(self, done: object) -> measuring_replies.Taps:
        """Return the answer; raise ValueError if it is not of these interfaces."""
        found = super().read(done)
        if [each.point for each in found.interfaces] != self._points:
            raise ValueError(f"it is not of {', '.join(self._points)}")
        return found

    @property
    def _points(self) -> list[str]:
        return [each.point for each in self.interfaces]


@dataclass(frozen=True)
class WatchedPlace(Message):
    """A process whose network and control groups are watched."""

    name: str
    pid: int
    cgroups: dict[str, str]


@dataclass(frozen=True, kw_only=True)
class Watch(Request[measuring_replies.Watch]):
    """Record the state of the machine and of some places at an interval."""

    op = "watch"
    reply = measuring_replies.Watch
    interval_ns: int
    places: Sequence[WatchedPlace]

    def most_rows(self, table: str, after_s: float) -> int | None:
        """Return the rows of a table: at each interval so many metrics of each place."""
        if table != "hosts":
            return None
        samples = round(after_s * 1e9 / self.interval_ns) + SPARE_SAMPLES
        return samples * (METRICS_OF_MACHINE + METRICS_OF_PLACE * len(self.places))

    def schema(self, table: str) -> Schema:
        """Return the schema of a table of the machine and the watched places."""
        return narrowed(table, {}, {"place": [MACHINE, *(each.name for each in self.places)]})


class Clock(Request[measuring_replies.Clock]):
    """Read the clock of the agent's kernel."""

    op = "clock"
    reply = measuring_replies.Clock


@dataclass(frozen=True, kw_only=True)
class Route(Request[measuring_replies.Route]):
    """Ask for the interface to an address; the answer is an error if there is no route."""

    op = "route"
    reply = measuring_replies.Route
    to: str


@dataclass(frozen=True)
class GeneratorFlow(Message):
    """The interface and the addresses of a flow of frames."""

    interface: str
    to_mac: str
    source: str
    to: str

    def message(self) -> JsonObject:
        """Return the flow as JSON values."""
        ends = {"from": self.source, "to": self.to}
        return {"interface": self.interface, "to_mac": self.to_mac, **ends}


@dataclass(frozen=True, kw_only=True)
class Generate(Request[measuring_replies.Generated]):
    """Send frames of some flows in turn; `interval_ns` 0 sends as fast as possible."""

    op = "generate"
    reply = measuring_replies.Generated
    flows: Sequence[GeneratorFlow]
    probe: int
    count: int
    interval_ns: int
    size: int
    port: int
    batch: int = 64
    realtime: bool = False


@dataclass(frozen=True, kw_only=True)
class Discard(Request[measuring_replies.Discarded]):
    """Receive and drop the packets of a UDP port; count a generator's frames at interfaces."""

    op = "discard"
    reply = measuring_replies.Discarded
    port: int
    interfaces: Sequence[str] = ()


@dataclass(frozen=True)
class CrossingFrame(Message):
    """A frame that tries a way from machine to machine: the interface that it leaves by, and MACs.

    `size` is in bytes, without the Ethernet header.
    """

    number: int
    by: str
    source: str
    to: str
    size: int


@dataclass(frozen=True, kw_only=True)
class SendFrames(Request[measuring_replies.SendFramesDone]):
    """Send frames to other machines until `stop`, all of them in each of some rounds."""

    op = "send-frames"
    reply = measuring_replies.SendFramesDone
    nonce: int
    frames: Sequence[CrossingFrame]
    rounds: int


@dataclass(frozen=True)
class AwaitedFrame(Message):
    """A frame that is awaited from another machine, by an interface."""

    number: int
    by: str


@dataclass(frozen=True, kw_only=True)
class AwaitFrames(Request[measuring_replies.AwaitFramesDone]):
    """Wait for frames of other machines, until all have arrived or the time is over."""

    op = "await-frames"
    reply = measuring_replies.AwaitFramesDone
    nonce: int
    frames: Sequence[AwaitedFrame]
    timeout_ns: int


class Counters(Request[measuring_replies.Counters]):
    """Read the counters of interfaces and protocols."""

    op = "counters"
    reply = measuring_replies.Counters


@dataclass(frozen=True, kw_only=True)
class Queues(Request[measuring_replies.Queues]):
    """Read the outermost queues of interfaces; those that are not there are left out."""

    op = "queues"
    reply = measuring_replies.Queues
    on: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class Compute(Request[measuring_replies.Compute]):
    """Do `units` of arithmetic, each some 0.2 ms of a CPU of today, and record the progress.

    The table `progress` has a row at most each `every_ns`: `time_ns` by the node's clock, and the
    `cpu_ns` used and the `units` done since the beginning. With `hold` the work begins once the
    session says `go`.
    """

    op = "compute"
    reply = measuring_replies.Compute
    units: int
    every_ns: int = 5_000_000
    hold: bool = False

    def most_rows(self, table: str, after_s: float) -> int | None:
        """Return the rows of a table: one for each interval that has passed, and the last one."""
        if table != "progress":
            return None
        return min(self.units, round(2 * after_s * 1e9 / self.every_ns)) + SPARE_SAMPLES
