"""Records of the reports of link engines, as a trial keeps them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from delaylab.records.base import MOST_LISTED, Count, Nanoseconds, Number, Record, Text
from delaylab.spec.conditions.engine import NOTHING, Conditions

WATCHED_NS = 20_000_000
"""Shortest time over which the CPU's delays are judged: five ticks of a 250 Hz timer, in ns."""

Texts = Annotated[list[Text], Field(max_length=MOST_LISTED)]


class Late(Record):
    """Lateness: how long after its due time the engine sent each frame, in ns."""

    count: Count = Field(0, description="The number of frames.")
    mean_ns: Nanoseconds | Number | None = Field(None, description="The mean lateness.")
    min_ns: Nanoseconds | Number | None = Field(None, description="The smallest lateness.")
    p50_ns: Nanoseconds | Number | None = Field(None, description="The median lateness.")
    p99_ns: Nanoseconds | Number | None = Field(
        None, description="The lateness that one frame in 100 exceeds."
    )
    max_ns: Nanoseconds | Number | None = Field(None, description="The largest lateness.")


class Tally(Record):
    """The number of frames, and of their bytes from the Ethernet header on."""

    frames: Count = Field(0, description="The number of frames.")
    bytes: Count = Field(0, description="Their size, from the Ethernet header on.")


class Dropped(Record):
    """Frames that were not sent, counted by reason.

    `ring` counts frames that never entered the engine, because their port's share of its ring was
    full.
    """

    ring: Count = Field(
        0,
        description="Frames refused because the port had used up its share of the engine's "
        "receive ring. They are not counted in `in`.",
    )
    loss: Count = Field(0, description="Frames lost by the condition `loss`.")
    queue: Count = Field(0, description="Frames that found the queue full.")
    early: Count = Field(
        0, description="Frames that CoDel or RED dropped although the queue had room."
    )
    memory: Count = Field(0, description="Frames for which the engine had no memory.")
    oversize: Count = Field(
        0, description="Frames longer than the MTU allows, cut, or without a valid checksum."
    )
    interface: Count = Field(
        0, description="Frames that the interface by which they leave the engine refused to send."
    )
    down: Count = Field(
        0, description="Frames of a link that was not up, and frames whose way out was down."
    )


class Downtime(Record):
    """A time in which a sender's end of a link was down or silent; it goes on without an end."""

    state: Text = Field(description="`down` (without a carrier) or `silent`.")
    since_ns: Nanoseconds = Field(description="The beginning, since the Unix epoch.")
    until_ns: Nanoseconds | None = Field(None, description="The end; null if it goes on.")


class Underlay(Record):
    """The network between the two machines of a link, by pings before the lab was up.

    Frames leave the link engine earlier by `delay_ns`, half of the least round trip: so much the
    network adds again, if both of its directions take the same time.
    """

    delay_ns: Nanoseconds = Field(description="The one-way delay that is part of the link's own.")
    least_rtt_ns: Nanoseconds = Field(description="The least round trip.")
    p50_rtt_ns: Nanoseconds | None = Field(
        None, description="The median round trip; null in records that predate it."
    )
    p99_rtt_ns: Nanoseconds = Field(description="The round trip that one ping in 100 exceeds.")
    sent: Count = Field(description="The number of pings.")
    lost: Count = Field(description="The number of pings without an answer.")


class Direction(Record):
    """Frames that one node sent over a link, or received from it with conditions of its own.

    Of frames that arrived by an uplink `node` is null. `nodes` are all nodes behind the port; there
    are several if they share one network stack. `configured` holds the conditions,
    `configured_first` those at the start of the count if they were changed later, even if they were
    changed back. `requests` counts the changes by `link set` since the engine's start. `held`
    counts the frames that wait or are under way. `duplicated`, `corrupted` and `reordered` are None
    where they are not counted, as with the kernel's queues. `underlay` and `short` are those of
    links between two machines. `port_dropped` counts frames to the
    node that the port's own queue had no room for.
    """

    link: Text = Field(description="The name of the link.")
    node: Text | None = Field(
        description="The node that sends, or receives; null for frames that arrive by an uplink."
    )
    receives: bool = Field(
        False,
        description="True if these are the frames that the node receives, under conditions that "
        "they pass after those of their sender (`to`).",
    )
    port: Text = Field(
        description="The interface by which the frames enter the engine, or leave it for the node."
    )
    nodes: Texts = Field([], description="All nodes at the port.")
    configured: Conditions = Field(
        NOTHING, alias="asked", description="The conditions that were configured last."
    )
    configured_first: Conditions | None = Field(
        None,
        alias="asked_first",
        description="The conditions at the start of the count; null if they did not change.",
    )
    requests: Count = Field(
        0, description="The number of changes by `link set` since the engine's start."
    )
    downtimes: Annotated[list[Downtime], Field(max_length=MOST_LISTED)] = Field(
        [], description="The times in which the sender's end of the link was not up."
    )
    entered: Tally = Field(Tally(), alias="in", description="The frames that entered the engine.")
    left: Tally = Field(
        Tally(), alias="out", description="The frames that left the engine; each copy counts."
    )
    dropped: Dropped = Field(Dropped(), description="The frames that were not sent, by reason.")
    duplicated: Count | None = Field(0, description="The number of frames that were duplicated.")
    corrupted: Count | None = Field(0, description="The number of frames that were corrupted.")
    reordered: Count | None = Field(
        0, description="The number of frames that skipped the delay to overtake others."
    )
    underlay: Underlay | None = Field(
        None, description="The network between the two machines of the link; null on one machine."
    )
    short: Count | None = Field(
        None,
        description="The number of frames whose delay was shorter than what that network adds; "
        "null where nothing is subtracted.",
    )
    moved: Count | None = Field(
        None,
        description="The number of frames of a link with more than two ends whose source MAC "
        "address belongs to another one; null where they are not counted.",
    )
    waiting: Tally = Field(
        Tally(), description="The frames that wait for the rate, here or at the sender."
    )
    late: Late = Field(Late(), description="The lateness of this direction's frames.")
    held: Count = Field(0, description="The number of frames that wait or are under way.")
    port_dropped: Count = Field(
        0,
        description="The number of frames to the node behind the port that the port's own queue "
        "had no room for.",
    )
    first_in_ns: Nanoseconds | None = Field(
        None, description="The time when the first frame entered, since the Unix epoch."
    )
    last_in_ns: Nanoseconds | None = Field(
        None, description="The time when the last frame entered."
    )
    first_out_ns: Nanoseconds | None = Field(
        None, description="The time when the first frame left."
    )
    last_out_ns: Nanoseconds | None = Field(None, description="The time when the last frame left.")

    @property
    def preposition(self) -> str:
        """Return the word between the link and its node: what the node sends is `from` it."""
        return "to" if self.receives else "from"

    @property
    def steady(self) -> bool:
        """Return True if the conditions did not change during the count."""
        return self.configured_first is None


class Memory(Record):
    """Memory used by waiting frames, in bytes; `warn` is set when it is close to its limit."""

    used: Count = Field(0, description="The memory in use.", json_schema_extra={"unit": "bytes"})
    bound: Count = Field(0, description="The limit.", json_schema_extra={"unit": "bytes"})
    peak: Count = Field(
        0, description="The largest amount that was in use.", json_schema_extra={"unit": "bytes"}
    )
    warn: bool = Field(
        False, description="True if half of the memory that directions share was in use."
    )


class Pauses(Record):
    """Pauses of over 2 ms while a frame was due: how many, and the longest in ns."""

    count: Count = Field(0, description="The number of pauses.")
    longest_ns: Count = Field(0, description="The length of the longest pause.")


class CpuNoise(Record):
    """Delays caused by the engine's CPU, in ns, measured while the engine only polled the clock.

    `held_up_ns` is the part of `watched_ns` during which something else had the CPU: interrupts,
    other processes, or whatever is under a virtual machine. `p99_ns` is the p99 lateness that this
    caused: at least one moment in 100 was seen so late or later.
    """

    watched_ns: Count = Field(0, description="The time for which the engine only polled the clock.")
    held_up_ns: Count = Field(
        0, description="The part of that time in which something else had the CPU."
    )
    p99_ns: Count = Field(
        0, description="The CPU wake-up latency that one moment in 100 reaches or exceeds."
    )

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
    """The report of a host's link engine (`own` or `kernel`) on all directions that it carries.

    `agent` is the agent that the engine belongs to, `pid` the engine's process. `dropped_ring`
    counts frames that came while the engine was behind, `unknown_port` those of a port that it does
    not know. `late` is the lateness of all directions' frames together.
    """

    host: Text = Field(description="The host whose links the engine carries.")
    agent: Text | None = Field(None, description="The agent that the engine belongs to.")
    pid: Count | None = Field(None, description="The process id of the engine inside the lab.")
    engine: Text = Field("own", description="The kind of engine: `own` or `kernel`.")
    state: Text = Field(description="`running` or `down`.")
    why: Text | None = Field(None, description="The reason why the engine is down.")
    realtime: bool = Field(False, description="True if the engine has real-time scheduling.")
    notes: Texts = Field([], description="Settings that the machine does not allow, and why.")
    since_ns: Nanoseconds | None = Field(
        None, description="The start of the time over which frames were counted."
    )
    now_ns: Nanoseconds | None = Field(None, description="The end of that time.")
    memory: Memory = Field(Memory(), description="The memory of frames that wait.")
    pauses: Pauses = Field(
        Pauses(), description="Times of over 2 ms when the engine did not run with a frame due."
    )
    cpu_noise: CpuNoise = Field(
        CpuNoise(), alias="floor", description="The delays that the engine's CPU itself caused."
    )
    dropped_ring: Count = Field(
        0, description="The number of frames that found the receive ring full, of all ports."
    )
    unknown_port: Count = Field(
        0, description="The number of frames of a port that the engine does not know."
    )
    late: Late = Field(Late(), description="The lateness of all directions' frames together.")
    directions: Annotated[list[Direction], Field(max_length=MOST_LISTED)] = Field(
        [], description="The directions that the engine carries."
    )

    @property
    def running(self) -> bool:
        """Return True if the engine forwards."""
        return self.state == "running"

    @property
    def of_nodes(self) -> list[Direction]:
        """Return the directions with conditions on this host; uplinks have none."""
        return [each for each in self.directions if each.node is not None]
