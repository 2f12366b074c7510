"""The base of all answers of the agent (docs/protocol.md), and those that every session needs.

An agent in a guest is the guest's and may send anything, so every answer is checked. Fields of
later versions are ignored. `tests/packets/test_protocol.py` compares these types with what the
agent really sends.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import Annotated, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from delaylab.dataset.records.base import LARGEST, MOST_LISTED, Word

Text = Annotated[str, StringConstraints(max_length=20_000)]


def _address(text: str) -> str:
    """Return an IP address as it is, with its zone if it has one; raise ValueError for others."""
    ip_address(text.partition("%")[0])
    return text


Address = Annotated[str, StringConstraints(max_length=100), AfterValidator(_address)]
Name = Annotated[str, StringConstraints(max_length=300)]
"""Name of a program, an interface, a counter or a place."""
Count = Annotated[int, Field(ge=0, le=LARGEST)]
Time = Annotated[int, Field(ge=0, le=LARGEST)]
"""Time in ns since 1970, at most in the year 2116: the difference of two fits into 64 bits."""
Span = Annotated[int, Field(ge=-LARGEST, le=LARGEST)]
"""Difference of two times in ns."""
ExitCode = Annotated[int, Field(ge=0, le=1 << 31)]
Item = TypeVar("Item")
Listed = Annotated[list[Item], Field(max_length=MOST_LISTED)]
"""List from an agent. Each item that is wrong costs memory before the answer is refused."""
Named = Annotated[dict[Name, Item], Field(max_length=10 * MOST_LISTED)]

PacketOutcome = Literal[
    "replied",
    "late",
    "lost",
    "refused",
    "unsent",
    "expired",
    "closed",
    "mismatched",
    "under-way",
]


class Reply(BaseModel):
    """The base of all answers."""

    model_config = ConfigDict(
        frozen=True, extra="ignore", populate_by_name=True, defer_build=True, allow_inf_nan=False
    )


class Nothing(Reply):
    """The answer of operations that return nothing."""


class Hello(Reply):
    """An agent's version, its process id, and the name of its kernel's clock."""

    version: Text
    pid: Count
    clock: Word


class Addresses(Reply):
    """The addresses of interfaces with their prefixes, by interface."""

    addresses: Named[Listed[Text]]


class Exit(Reply):
    """The end of a command: its exit code, or the signal that killed it.

    `written_bytes` is what it and its children wrote to storage, None if the kernel does not tell.
    `began_ns` and `ended_ns` are by the node's clock, in ns since 1970; `user_ns` and `system_ns`
    the CPU time of the command and of its children that it waited for (getrusage(2)). A command
    that was never started has none of these.
    """

    exit: ExitCode | None = None
    killed: ExitCode | None = None
    written_bytes: Count | None = None
    began_ns: Time | None = None
    ended_ns: Time | None = None
    user_ns: Count | None = None
    system_ns: Count | None = None

    @property
    def how(self) -> str:
        """Return how the command ended, in words."""
        return f"signal {self.killed}" if self.exit is None else f"exit code {self.exit}"


class BuiltAgent(Reply):
    """An agent of a running lab: its process, its socket and its control groups.

    `pid` is as seen from outside of the lab, `start` its start time in clock ticks; together they
    name a process for good. `cgroups` maps a controller to its folder.
    """

    pid: Count
    start: Count
    socket: Text = ""
    cgroups: Named[Text] = {}


class Built(Reply):
    """A lab that was built: its keeper, its agents, and what it could not have as configured."""

    pid: Count
    start: Count
    agents: Named[BuiltAgent] = {}
    warnings: Listed[Text] = []
    elapsed_ns: Count = 0


class LivePacket(Reply):
    """One packet of a live probe; times are in ns, None where there is none.

    `rtt_app_ns` and `rtt_stack_ns` are round trip: from the program's and from the kernel's stamps.
    `slip_ns` is how late the packet was sent. `expired` is a packet whose TTL was used up at the
    router `source`, `closed` one that a closed TCP port answered. `handshake_ns` is how long it
    took to open the connection of an HTTP request. `source` is the address that answered, `error`
    of a packet with an answer what is wrong with that, and `duplicates` the number of its further
    answers. `under-way` is a packet that could still be answered when the client stopped the probe,
    `mismatched` one whose answer is no reply: from another address, or with other data.
    """

    seq: Count
    handshake_ns: Span | None = None
    rtt_app_ns: Span | None = None
    rtt_stack_ns: Span | None = None
    slip_ns: Span | None = None
    outcome: PacketOutcome
    source: Address | None = Field(None, alias="from")
    ttl: Count | None = None
    error: Text | None = None
    duplicates: Count = 0


class ReadyPort(Reply):
    """The UDP or TCP port at which a reflector or a sink listens."""

    port: Annotated[int, Field(ge=1, le=65535)]


class Event(Reply):
    """One event of a running request; one of the fields is set."""

    ready: bool | ReadyPort | None = None
    started: Count | None = None
    paused: bool | None = None
    used: Count | None = None
    packet: LivePacket | None = None
