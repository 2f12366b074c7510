"""Requests to the agent that measure, work, or load a network (docs/protocol.md), as types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from delaylab.agent import measuring_replies
from delaylab.agent.requests import Request
from delaylab.io.values import JsonObject, Message


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
    stamps: Sequence[str] = ("app", "qdisc", "stack")
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


@dataclass(frozen=True, kw_only=True)
class Reflect(Request[measuring_replies.Reflect]):
    """Send a probe's UDP packets back from a port; with `stamps`, stamp them.

    With `tcp` it accepts connections and closes them, with `http` it answers 204 on each. It does
    not stamp these.
    """

    op = "reflect"
    reply = measuring_replies.Reflect
    port: int
    ip: int
    stamps: bool
    probe: int
    protocol: Literal["udp", "tcp", "http"] = "udp"


@dataclass(frozen=True)
class TapInterface(Message):
    """An interface to capture at, and the name of its point."""

    name: str
    point: str


@dataclass(frozen=True)
class TapFilter(Message):
    """The packets to capture; 0 in `probe`, `ident` or `port` matches any.

    For `tcp` and `http`, `ident` is the source port of the packet with sequence number 0.
    """

    protocol: str
    ip: int
    probe: int = 0
    ident: int = 0
    port: int = 0


@dataclass(frozen=True, kw_only=True)
class Tap(Request[measuring_replies.Taps]):
    """Stamp a probe's packets at interfaces; `pcap` is the path of a file to keep them in.

    With `capture_bytes` they are kept in memory instead, at most so many, and sent as output at the
    end.
    With `parts_ns` stamps come in parts while it runs, at most one in that time. With `together`
    one ring serves all interfaces: hundreds are then set up in milliseconds, and each packet costs
    more.
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
