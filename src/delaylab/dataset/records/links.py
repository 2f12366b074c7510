"""Records of the reports of link engines, as a trial keeps them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from delaylab.dataset.records.base import MOST_LISTED, Count, Nanoseconds, Number, Record, Text
from delaylab.spec.link_conditions import NOTHING, Conditions

WATCHED_NS = 20_000_000
"""Shortest time over which the CPU's delays are judged: five ticks of a 250 Hz timer, in ns."""

Texts = Annotated[list[Text], Field(max_length=MOST_LISTED)]


class Tally(Record):
    """Number of frames, and of their bytes from the Ethernet header on."""

    frames: Count = 0
    bytes: Count = 0


class Dropped(Record):
    """Frames that were not sent, counted by reason.

    `ring` counts frames that never entered the engine, because their port's share of its ring was
    full.
    """

    ring: Count = 0
    loss: Count = 0
    queue: Count = 0
    early: Count = 0
    memory: Count = 0
    oversize: Count = 0
    interface: Count = 0
    down: Count = 0


class Late(Record):
    """Lateness: how long after its due time the engine sent each frame, in ns."""

    count: Count = 0
    mean_ns: Nanoseconds | Number | None = None
    min_ns: Nanoseconds | Number | None = None
    p50_ns: Nanoseconds | Number | None = None
    p99_ns: Nanoseconds | Number | None = None
    max_ns: Nanoseconds | Number | None = None


class Direction(Record):
    """Frames that one node sent over a link, or that arrived by an uplink (then `node` is None).

    `nodes` are all nodes behind the port; there are several if they share one network stack.
    `configured` holds the conditions, `configured_first` the initial ones if they were changed
    later. `held` counts the frames that wait or are under way. `duplicated`, `corrupted` and
    `reordered` are None where they are not counted, as with the kernel's queues. `port_dropped`
    counts frames to the node that the port's own queue had no room for.
    """

    link: Text
    node: Text | None
    port: Text
    nodes: Texts = []
    configured: Conditions = Field(NOTHING, alias="asked")
    configured_first: Conditions | None = Field(None, alias="asked_first")
    entered: Tally = Field(Tally(), alias="in")
    left: Tally = Field(Tally(), alias="out")
    dropped: Dropped = Dropped()
    duplicated: Count | None = 0
    corrupted: Count | None = 0
    reordered: Count | None = 0
    waiting: Tally = Tally()
    late: Late = Late()
    held: Count = 0
    port_dropped: Count = 0
    first_in_ns: Nanoseconds | None = None
    last_in_ns: Nanoseconds | None = None
    first_out_ns: Nanoseconds | None = None
    last_out_ns: Nanoseconds | None = None

    @property
    def steady(self) -> bool:
        """Return True if the conditions never changed."""
        return self.configured_first is None


class Memory(Record):
    """Memory used by waiting frames, in bytes; `warn` is set when it is close to its limit."""

    used: Count = 0
    bound: Count = 0
    peak: Count = 0
    warn: bool = False


class Pauses(Record):
    """Pauses of over 2 ms while a frame was due: how many, and the longest in ns."""

    count: Count = 0
    longest_ns: Count = 0


class CpuNoise(Record):
    """Delays caused by the engine's CPU, in ns, measured while the engine only polled the clock.

    `held_up_ns` is the part of `watched_ns` during which something else had the CPU: interrupts,
    other processes, or whatever is under a virtual machine. `p99_ns` is the p99 lateness that this
    caused: at least one moment in 100 was seen so late or later.
    """

    watched_ns: Count = 0
    held_up_ns: Count = 0
    p99_ns: Count = 0

    @property
    def known(self) -> bool:
        """Return True if the CPU was watched for long enough to judge a share of one in 100."""
        return self.watched_ns >= WATCHED_NS

    @property
    def text(self) -> str:
        """Return the measurement in words; the time watched must not be 0."""
        share = self.held_up_ns / self.watched_ns
        latency = f"CPU wake-up latency p99 {self.p99_ns / 1000:.1f} µs"
        return f"{latency}; preempted {100 * share:.1f} % of the time"


class EngineReport(Record):
    """Report of a host's link engine (`own` or `kernel`) on all directions that it carries.

    `agent` is the agent that the engine belongs to, `pid` the engine's process. `dropped_ring`
    counts frames that came while the engine was behind, `unknown_port` those of a port that it does
    not know. `late` is the lateness of all directions' frames together.
    """

    host: Text
    agent: Text | None = None
    pid: Count | None = None
    engine: Text = "own"
    state: Text
    why: Text | None = None
    realtime: bool = False
    notes: Texts = []
    since_ns: Nanoseconds | None = None
    now_ns: Nanoseconds | None = None
    memory: Memory = Memory()
    pauses: Pauses = Pauses()
    cpu_noise: CpuNoise = Field(CpuNoise(), alias="floor")
    dropped_ring: Count = 0
    unknown_port: Count = 0
    late: Late = Late()
    directions: Annotated[list[Direction], Field(max_length=MOST_LISTED)] = []

    @property
    def running(self) -> bool:
        """Return True if the engine forwards."""
        return self.state == "running"

    @property
    def of_nodes(self) -> list[Direction]:
        """Return the directions conditioned on this host, which leaves out those of uplinks."""
        return [each for each in self.directions if each.node is not None]
