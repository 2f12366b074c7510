"""Verb `delaylab ping`: a ping that says how much of the round trip arises in this machine."""

from __future__ import annotations

import ipaddress
import os
import random
import socket
import time
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from delaylab import hosts
from delaylab.agent.replies import Event
from delaylab.agent.requests import Probe
from delaylab.agent.session import Session
from delaylab.errors import BadInput
from delaylab.units import Duration
from delaylab.verbs.ping_result import PingPacket, PingResult

AT_MOST = 100_000
"""Largest number of packets: that without -c, over a day at one per second. The agent allocates the
memory for all of them beforehand."""
MICRO = 1e3
LATE_NS = 1_000_000_000


@dataclass(frozen=True)
class Options:
    """Options of a ping; a `count` of None means until Ctrl-C."""

    host: str
    count: int | None
    interval: Duration
    size: int
    version: int | None
    realtime: bool


def resolve(host: str, version: int | None) -> str:
    """Return a host's address; raise BadInput if it has none."""
    family = {None: socket.AF_UNSPEC, 4: socket.AF_INET, 6: socket.AF_INET6}[version]
    try:
        found = socket.getaddrinfo(host, None, family, socket.SOCK_DGRAM)
    except OSError as error:
        raise BadInput(f"no address for {host!r}: {error.strerror}") from None
    return str(found[0][4][0])


def run(
    options: Options, console: Console | None = None, session: Session | None = None
) -> PingResult:
    """Ping a host; print each reply if there is a console.

    `session` is one with the agent that sends, by default one of this machine; it is closed.
    """
    address = resolve(options.host, options.version)
    session = session or hosts.local_session()
    packets: list[PingPacket] = []
    if console is not None:
        kind = f"IPv{ipaddress.ip_address(address.split('%')[0]).version}"
        console.print(
            f"PING {options.host} ({address}), {kind}, {options.size} bytes of ICMP echo payload",
            highlight=False,
        )

    def on_event(event: Event) -> None:
        if event.packet is not None:
            packets.append(PingPacket.of(event.packet))
            if console is not None:
                console.print(line(packets[-1]), highlight=False)

    try:
        result = session.start(_request(options, address))
        try:
            session.finish(on_event=on_event)
        except KeyboardInterrupt:
            session.stop()
            session.finish(on_event=on_event)
    finally:
        session.close()
    done = result.done
    return PingResult(
        host=options.host,
        address=address,
        sent=done.sent,
        packets=tuple(packets),
        realtime=done.realtime,
        doubts=tuple(done.warnings),
    )


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


def line(packet: PingPacket) -> str:
    """Return one packet's line for a reader."""
    head = f"seq={packet.seq}"
    if packet.rtt_user_ns is None:
        return f"{head} {packet.outcome}{f': {packet.error}' if packet.error else ''}"
    parts = [head, f"ttl={packet.ttl}" if packet.ttl else "", f"user={_us(packet.rtt_user_ns)}"]
    if packet.rtt_kernel_ns is not None and packet.added_ns is not None:
        parts += [f"kernel={_us(packet.rtt_kernel_ns)}", f"added-here={_us(packet.added_ns)}"]
    parts.append(f"slip={_us(packet.slip_ns)}" if packet.slip_ns is not None else "")
    if packet.outcome != "replied":
        parts.append(f"({packet.outcome})")
    return "  ".join(part for part in parts if part)


def print_summary(result: PingResult, console: Console) -> None:
    """Print the summary of a ping for a reader."""
    share = 100 * result.lost / result.sent if result.sent else 0
    console.print(
        f"\n{result.sent} sent, {result.replied} replied, {result.late} late, "
        f"{result.lost} lost ({share:.1f} %)",
        highlight=False,
    )
    table = Table(box=None, pad_edge=False)
    for title in ("", "n", "min", "median", "p99", "max"):
        table.add_column(title, justify="left" if not title else "right")
    rows = (
        ("user round trip", result.rtt_user_ns),
        ("kernel round trip", result.rtt_kernel_ns),
        ("added by this machine", result.added_ns),
        ("send slip (one way)", result.slip_ns),
    )
    for title, found in rows:
        if found is not None:
            p99 = "–" if found.p99 is None else _us(found.p99)
            table.add_row(
                title, str(found.n), _us(found.min), _us(found.median), p99, _us(found.max)
            )
    console.print(table)
    for warning in result.warnings:
        console.print(f"note: {warning}", highlight=False, style="yellow")


def _us(nanoseconds: float) -> str:
    return f"{nanoseconds / MICRO:.1f}µs" if nanoseconds < 1e6 else f"{nanoseconds / 1e6:.3f}ms"
