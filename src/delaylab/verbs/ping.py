"""Verb `delaylab ping`: a ping that says how much of the round trip arises in this machine."""

from __future__ import annotations

import ipaddress
import os
import random
import socket
import statistics
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

from rich.console import Console
from rich.table import Table

from delaylab import hosts
from delaylab.agent import replies
from delaylab.agent.replies import Event, LivePacket
from delaylab.agent.requests import Probe
from delaylab.dataset.records.doubts import Doubt
from delaylab.errors import BadInput
from delaylab.io.values import JsonObject
from delaylab.units import Duration

AT_MOST = 100_000
"""Largest number of packets: that without -c, over a day at one per second. The agent allocates the
memory for all of them beforehand."""
MICRO = 1e3
LATE_NS = 1_000_000_000
P99_FROM = 100
"""Smallest number of values of which p99 is given."""


@dataclass(frozen=True)
class Options:
    """Options of a ping; a `count` of None means until Ctrl-C."""

    host: str
    count: int | None
    interval: Duration
    size: int
    version: int | None
    realtime: bool


@dataclass
class Packets:
    """Outcomes of all packets, as the agent reported them."""

    replies: list[LivePacket] = field(default_factory=list)

    def added(self) -> list[int]:
        """Return user minus kernel round trip in ns: the delay that arises in this machine."""
        return [
            reply.rtt_app_ns - reply.rtt_stack_ns
            for reply in self.replies
            if reply.rtt_app_ns is not None and reply.rtt_stack_ns is not None
        ]

    def count(self, outcome: str) -> int:
        """Return the number of packets with one outcome."""
        return sum(reply.outcome == outcome for reply in self.replies)


@dataclass(frozen=True)
class Spread:
    """Number, minimum, median, maximum and p99 (from 100 values on) of a sample in ns."""

    n: int
    min: int
    median: float
    max: int
    p99: int | None = None


@dataclass(frozen=True)
class Summary:
    """All numbers of a ping; delays in ns, each named one way or round trip.

    `rtt_added_by_this_machine_ns` is the user's round trip less the kernel's. A spread is None if
    there is no value.
    """

    host: str
    address: str
    sent: int
    replied: int
    late: int
    lost: int
    rtt_user_ns: Spread | None
    rtt_kernel_ns: Spread | None
    rtt_added_by_this_machine_ns: Spread | None
    slip_one_way_ns: Spread | None
    realtime: bool
    warnings: list[Doubt]
    packets: list[LivePacket]


def resolve(host: str, version: int | None) -> str:
    """Return a host's address; raise BadInput if it has none."""
    family = {None: socket.AF_UNSPEC, 4: socket.AF_INET, 6: socket.AF_INET6}[version]
    try:
        found = socket.getaddrinfo(host, None, family, socket.SOCK_DGRAM)
    except OSError as error:
        raise BadInput(f"no address for {host!r}: {error.strerror}") from None
    return str(found[0][4][0])


def run(options: Options, console: Console | None) -> Summary:
    """Ping a host and return the summary; print each reply if there is a console."""
    address = resolve(options.host, options.version)
    packets = Packets()
    session = hosts.local_session()
    if console is not None:
        kind = f"IPv{ipaddress.ip_address(address.split('%')[0]).version}"
        console.print(
            f"PING {options.host} ({address}), {kind}, {options.size} bytes of ICMP echo payload",
            highlight=False,
        )

    def on_event(event: Event) -> None:
        if event.packet is not None:
            packets.replies.append(event.packet)
            if console is not None:
                console.print(line(event.packet), highlight=False)

    try:
        result = session.start(_request(options, address))
        try:
            session.finish(on_event=on_event)
        except KeyboardInterrupt:
            session.stop()
            session.finish(on_event=on_event)
    finally:
        session.close()
    return summary(options, address, packets, result.done)


def _request(options: Options, address: str) -> Probe:
    return Probe(
        probe=random.Random(time.monotonic_ns() ^ os.getpid()).getrandbits(31),
        protocol="icmp",
        to=address,
        count=options.count or AT_MOST,
        interval_ns=options.interval.ns,
        size=options.size,
        linger_ns=LATE_NS,
        late_ns=LATE_NS,
        realtime=options.realtime,
        live=True,
    )


def line(packet: LivePacket) -> str:
    """Return one packet's line for a reader."""
    head = f"seq={packet.seq}"
    if packet.rtt_app_ns is None:
        return f"{head} {packet.outcome}{': ' + packet.error if packet.error else ''}"
    user, kernel = packet.rtt_app_ns, packet.rtt_stack_ns
    parts = [head, f"ttl={packet.ttl}" if packet.ttl else "", f"user={_us(user)}"]
    if kernel is not None:
        parts += [f"kernel={_us(kernel)}", f"added-here={_us(user - kernel)}"]
    parts.append(f"slip={_us(packet.slip_ns)}" if packet.slip_ns is not None else "")
    if packet.outcome != "replied":
        parts.append(f"({packet.outcome})")
    return "  ".join(part for part in parts if part)


def summary(options: Options, address: str, packets: Packets, done: replies.Probe) -> Summary:
    """Return all numbers of a ping."""
    replied, late = packets.count("replied"), packets.count("late")
    return Summary(
        host=options.host,
        address=address,
        sent=done.sent,
        replied=replied,
        late=late,
        lost=done.sent - replied - late,
        rtt_user_ns=spread([packet.rtt_app_ns for packet in packets.replies]),
        rtt_kernel_ns=spread([packet.rtt_stack_ns for packet in packets.replies]),
        rtt_added_by_this_machine_ns=spread(packets.added()),
        slip_one_way_ns=spread([packet.slip_ns for packet in packets.replies]),
        realtime=done.realtime,
        warnings=done.warnings,
        packets=packets.replies,
    )


def as_json(found: Summary) -> JsonObject:
    """Return the summary as JSON values; a p99 that was not computed is left out."""
    spreads = {
        name: value and {k: v for k, v in asdict(value).items() if v is not None}
        for name, value in vars(found).items()
        if name.endswith("_ns")
    }
    warnings = [each.model_dump(include={"kind", "message", "remedy"}) for each in found.warnings]
    packets = [packet.model_dump(by_alias=True) for packet in found.packets]
    return {**vars(found), **spreads, "warnings": warnings, "packets": packets}


def spread(values: Sequence[int | None]) -> Spread | None:
    """Return the spread of a sample without its missing values, None if it is empty."""
    ordered = sorted(value for value in values if value is not None)
    if not ordered:
        return None
    p99 = ordered[int(0.99 * (len(ordered) - 1))] if len(ordered) >= P99_FROM else None
    return Spread(len(ordered), ordered[0], statistics.median(ordered), ordered[-1], p99)


def print_summary(found: Summary, console: Console) -> None:
    """Print the summary of a ping for a reader."""
    share = 100 * found.lost / found.sent if found.sent else 0
    console.print(
        f"\n{found.sent} sent, {found.replied} replied, {found.late} late, "
        f"{found.lost} lost ({share:.1f} %)",
        highlight=False,
    )
    table = Table(box=None, pad_edge=False)
    for title in ("", "n", "min", "median", "p99", "max"):
        table.add_column(title, justify="left" if not title else "right")
    rows = (
        ("user round trip", found.rtt_user_ns),
        ("kernel round trip", found.rtt_kernel_ns),
        ("added by this machine", found.rtt_added_by_this_machine_ns),
        ("send slip (one way)", found.slip_one_way_ns),
    )
    for title, values in rows:
        if values is not None:
            shown = (values.min, values.median, values.p99, values.max)
            cells = ("–" if value is None else _us(value) for value in shown)
            table.add_row(title, str(values.n), *cells)
    console.print(table)
    for warning in found.warnings:
        console.print(f"note: {warning.message}", highlight=False, style="yellow")


def _us(nanoseconds: float) -> str:
    return f"{nanoseconds / MICRO:.1f}µs" if nanoseconds < 1e6 else f"{nanoseconds / 1e6:.3f}ms"
