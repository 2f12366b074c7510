"""What a link engine reports, as a trial's record keeps it: where doing and meaning meet."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from delaylab.records.base import MOST_LISTED, Count, Nanoseconds, Number, Record, Text

WATCHED_NS = 20_000_000
"""Five periods of a timer at 250 Hz, which most kernels have or are above."""

Texts = Annotated[list[Text], Field(max_length=MOST_LISTED)]


class Tally(Record):
    """Frames and their bytes, from the Ethernet header on."""

    frames: Count = 0
    bytes: Count = 0


class Dropped(Record):
    """Frames that were not sent, by the reason.

    `ring`: they came when their port's share of the engine's ring was in use, and never entered.
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
    """By how much the engine sent frames after they were due, in ns."""

    count: Count = 0
    mean_ns: Number | None = None
    min_ns: Number | None = None
    p50_ns: Number | None = None
    p99_ns: Number | None = None
    max_ns: Number | None = None


class Direction(Record):
    """What one member sent on a link, or what came by an uplink (`node` is None then).

    `duplicated`, `corrupted`, `reordered`: None where nobody counts them, as in the kernel.
    `asked`: conditions in the engine's form; `asked_first`: those at the beginning, if they were
    others. `nodes`: all behind the port; more than one if they are one stack. `port_dropped`: what
    the port's own queue had no room for, on its way to the node.
    """

    link: Text
    node: Text | None
    port: Text
    nodes: Texts = []
    asked: dict[str, Any] = {}
    asked_first: dict[str, Any] | None = None
    entered: Tally = Field(Tally(), alias="in")
    left: Tally = Field(Tally(), alias="out")
    dropped: Dropped = Dropped()
    duplicated: Count | None = 0
    corrupted: Count | None = 0
    reordered: Count | None = 0
    waiting: Tally = Tally()
    late: Late = Late()
    port_dropped: Count = 0
    first_out_ns: Nanoseconds | None = None
    last_out_ns: Nanoseconds | None = None

    @property
    def steady(self) -> bool:
        """Whether the same was asked all the time."""
        return self.asked_first is None


class Memory(Record):
    """Bytes of frames that wait; `warn`: so many that it may soon be all."""

    used: Count = 0
    bound: Count = 0
    peak: Count = 0
    warn: bool = False


class Pauses(Record):
    """How often, and for how long at most, the engine stood still while a frame was due."""

    count: Count = 0
    longest_ns: Count = 0


class Floor(Record):
    """How late an engine's CPU itself made it, in ns, seen while it only looked at the clock.

    `held_up_ns`: the part of `watched_ns` that passed without it (interrupts, other processes,
    whatever is under a virtual machine); `p99_ns`: how late one moment in 100 was seen, or more.
    """

    watched_ns: Count = 0
    held_up_ns: Count = 0
    p99_ns: Count = 0

    @property
    def known(self) -> bool:
        """Whether it was watched for long enough for a share of one in 100 to mean something."""
        return self.watched_ns >= WATCHED_NS

    @property
    def text(self) -> str:
        """The same in words."""
        share = self.held_up_ns / self.watched_ns
        late = f"{self.p99_ns / 1000:.1f} µs late or more for one moment in 100"
        return f"{late}, not the engine's for {100 * share:.1f} % of the time"


class Engine(Record):
    """A host's link engine and all directions that it carries; `engine`: `own` or `kernel`."""

    host: Text
    engine: Text = "own"
    state: Text
    why: Text | None = None
    realtime: bool = False
    notes: Texts = []
    since_ns: Nanoseconds | None = None
    now_ns: Nanoseconds | None = None
    memory: Memory = Memory()
    pauses: Pauses = Pauses()
    floor: Floor = Floor()
    dropped_ring: Count = 0
    directions: Annotated[list[Direction], Field(max_length=MOST_LISTED)] = []
