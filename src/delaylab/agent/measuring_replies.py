"""Answers of the agent to requests that measure or load a network (docs/protocol.md), as types."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from delaylab.agent.replies import Address, Count, Listed, Named, Reply, Text, Time
from delaylab.agent.result import AgentError
from delaylab.dataset.records.base import Difference, Word
from delaylab.dataset.records.doubts import Doubt
from delaylab.dataset.records.links import Late
from delaylab.dataset.records.taps import Tap

MOST_WARNINGS = 100


class Probe(Reply):
    """The end of a probe's run. `by` names what took the `stack` stamps.

    `neighbour_ns` is how long it took to resolve the next hop before the first packet.
    """

    sent: Count
    replied: Count
    warnings: Annotated[list[Doubt], Field(max_length=MOST_WARNINGS)]
    realtime: bool
    clock: Word
    by: Literal["socket", "tcx", "ring"]
    neighbour_ns: Count | None = None


class Reflect(Reply):
    """The number of packets that a reflector sent back, or of connections that it answered.

    `unsent` are packets with a sequence number that the probe does not use.
    """

    reflected: Count
    unsent: Count = 0


class Taps(Reply):
    """The counts of a tap session, one entry per point.

    `uncaptured` counts the packets for which a capture in memory had no room.
    """

    interfaces: Listed[Tap]
    uncaptured: Count


class Watch(Reply):
    """The samples that the machine's record has, and those that it missed."""

    samples: Count
    missed: Count


class Clock(Reply):
    """The time of the agent's kernel, in ns since the Unix epoch."""

    time_ns: Time


class Route(Reply):
    """The interface by which packets to an address leave, with its MTU in bytes.

    `source` is the address that they come from, None if the kernel does not tell; `gateway` the
    router that takes them, None if there is none.
    """

    interface: Text
    source: Address | None = None
    gateway: Address | None = None
    mtu: Count


class Generated(Reply):
    """The end of a generator's run: frames sent and refused, their slip, and its times in ns.

    `not_realtime` is the reason why real-time scheduling was not granted.
    """

    sent: Count
    refused: Count
    slip: Late
    began_ns: Time
    ended_ns: Time
    realtime: bool
    not_realtime: Text | None


class Order(Reply):
    """The frames that arrived by an interface, and those of them that came out of order."""

    received: Count
    reordered: Count


class Discarded(Reply):
    """The frames of a generator that were dropped, by interface.

    None if none were counted: none was asked for, or the kernel lets no BPF programs in.
    """

    interfaces: Named[Order] | None = None


class SendFramesDone(Reply):
    """The end of sending frames to other machines: how many the kernel took."""

    sent: Count


class AwaitFramesDone(Reply):
    """The end of waiting for frames of other machines: the numbers of those that arrived."""

    arrived: list[Count]


class InterfaceCounters(Reply):
    """An interface's counters since it was made, as the kernel has them (rtnetlink(7))."""

    rx_bytes: Count
    tx_bytes: Count
    rx_packets: Count
    tx_packets: Count
    rx_dropped: Count
    tx_dropped: Count


class Counters(Reply):
    """The counters of a network namespace: by interface, and by protocol as in /proc/net/snmp.

    `time_ns` is when they were read, by the clock of all stamps. `label` names the agent in errors.
    """

    time_ns: Time
    interfaces: Named[InterfaceCounters]
    snmp: Named[Named[Difference]]

    def of_interface(self, name: str, label: str) -> InterfaceCounters:
        """Return the counters of an interface; raise AgentError if they lack it."""
        if name not in self.interfaces:
            raise AgentError(f"it sent no counters of interface {name!r}", label)
        return self.interfaces[name]

    def of_protocol(self, name: str, label: str) -> dict[str, int]:
        """Return the counters of a protocol; raise AgentError if they are malformed."""
        found = self.snmp.get(name, {})
        if not found or min(found.values()) < 0:
            raise AgentError(f"it sent malformed counters of {name}", label)
        return found

    def counter(self, protocol: str, name: str, label: str) -> int:
        """Return one of a protocol's counters; raise AgentError if they lack it."""
        found = self.of_protocol(protocol, label)
        if name not in found:
            raise AgentError(f"it sent no counter {name!r} of {protocol}", label)
        return found[name]


class QueueCounters(Reply):
    """The counters of a queue since it was made, and the frames that wait in it."""

    frames: Count
    bytes: Count
    dropped: Count
    waiting_frames: Count
    waiting_bytes: Count


class Queues(Reply):
    """The outermost queues of interfaces."""

    queues: Named[QueueCounters]


class Compute(Reply):
    """The end of arithmetic: the units that were done, and their times.

    `began_ns` and `ended_ns` are by the node's clock, in ns since 1970; `user_ns` and `system_ns`
    are the CPU time used (getrusage(2)).
    """

    units: Count
    began_ns: Time
    ended_ns: Time
    user_ns: Count
    system_ns: Count
