"""Verb `delaylab ping`: a ping that says how much of the round trip arises in this machine."""

from __future__ import annotations

import ipaddress
import os
import random
import socket
import statistics
import time
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.table import Table

from delaylab import hosts
from delaylab.errors import BadInput
from delaylab.units import Duration

AT_MOST = 100_000
"""Largest number of packets: that without -c, over a day at one per second. The agent allocates the
memory for all of them beforehand."""
MICRO = 1e3


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

    replies: list[dict[str, Any]] = field(default_factory=list)

    def values(self, key: str) -> list[int]:
        """Return the values of one column, without missing ones."""
        return [reply[key] for reply in self.replies if reply.get(key) is not None]

    def added(self) -> list[int]:
        """Return user minus kernel round trip in ns: the delay that arises in this machine."""
        return [
            reply["rtt_app_ns"] - reply["rtt_stack_ns"]
            for reply in self.replies
            if reply.get("rtt_app_ns") is not None and reply.get("rtt_stack_ns") is not None
        ]

    def count(self, outcome: str) -> int:
        """Return the number of packets with one outcome."""
        return sum(reply["outcome"] == outcome for reply in self.replies)


def resolve(host: str, version: int | None) -> str:
    """Return a host's address; raise BadInput if it has none."""
    family = {None: socket.AF_UNSPEC, 4: socket.AF_INET, 6: socket.AF_INET6}[version]
    try:
        found = socket.getaddrinfo(host, None, family, socket.SOCK_DGRAM)
    except OSError as error:
        raise BadInput(f"no address for {host!r}: {error.strerror}") from None
    return str(found[0][4][0])


def run(options: Options, console: Console | None) -> dict[str, Any]:
    """Ping a host and return the summary in ns; print each reply if there is a console."""
    address = resolve(options.host, options.version)
    packets = Packets()
    session = hosts.local_session()
    if console is not None:
        kind = f"IPv{ipaddress.ip_address(address.split('%')[0]).version}"
        console.print(
            f"PING {options.host} ({address}), {kind}, {options.size} bytes of ICMP echo payload",
            highlight=False,
        )

    def on_event(event: dict[str, Any]) -> None:
        if "packet" in event:
            packets.replies.append(event["packet"])
            if console is not None:
                console.print(line(event["packet"]), highlight=False)

    try:
        session.start("probe", **_request(options, address))
        try:
            done = session.finish(on_event=on_event).done
        except KeyboardInterrupt:
            session.stop()
            done = session.finish(on_event=on_event).done
    finally:
        session.close()
    return summary(options, address, packets, done)


def _request(options: Options, address: str) -> dict[str, Any]:
    late = Duration(1_000_000_000)
    return {
        "probe": random.Random(time.monotonic_ns() ^ os.getpid()).getrandbits(31),
        "protocol": "icmp",
        "to": address,
        "ident": 0,
        "count": options.count or AT_MOST,
        "interval_ns": options.interval.ns,
        "size": options.size,
        "first_seq": 0,
        "linger_ns": late.ns,
        "late_ns": late.ns,
        "stamps": ["app", "qdisc", "stack"],
        "realtime": options.realtime,
        "live": True,
    }


def line(packet: dict[str, Any]) -> str:
    """Return one packet's line for a reader."""
    head = f"seq={packet['seq']}"
    if packet.get("rtt_app_ns") is None:
        return f"{head} {packet['outcome']}{': ' + packet['error'] if packet.get('error') else ''}"
    user, kernel = packet["rtt_app_ns"], packet.get("rtt_stack_ns")
    parts = [head, f"ttl={packet['ttl']}" if packet.get("ttl") else "", f"user={_us(user)}"]
    if kernel is not None:
        parts += [f"kernel={_us(kernel)}", f"added-here={_us(user - kernel)}"]
    parts.append(f"slip={_us(packet['slip_ns'])}" if packet.get("slip_ns") is not None else "")
    if packet["outcome"] != "replied":
        parts.append(f"({packet['outcome']})")
    return "  ".join(part for part in parts if part)


def summary(
    options: Options, address: str, packets: Packets, done: dict[str, Any]
) -> dict[str, Any]:
    """Return all numbers of a ping; delays in ns, each named one way or round trip."""
    replied = packets.count("replied")
    return {
        "host": options.host,
        "address": address,
        "sent": done["sent"],
        "replied": replied,
        "late": packets.count("late"),
        "lost": done["sent"] - replied - packets.count("late"),
        "rtt_user_ns": spread(packets.values("rtt_app_ns")),
        "rtt_kernel_ns": spread(packets.values("rtt_stack_ns")),
        "rtt_added_by_this_machine_ns": spread(packets.added()),
        "slip_one_way_ns": spread(packets.values("slip_ns")),
        "realtime": done.get("realtime", False),
        "warnings": done.get("warnings", []),
        "packets": packets.replies,
    }


def spread(values: list[int]) -> dict[str, float] | None:
    """Return n, min, median, p99 and max of a sample, None if it is empty.

    p99 is given from 100 values on.
    """
    if not values:
        return None
    ordered = sorted(values)
    result: dict[str, float] = {
        "n": len(ordered),
        "min": ordered[0],
        "median": statistics.median(ordered),
        "max": ordered[-1],
    }
    if len(ordered) >= 100:
        result["p99"] = ordered[int(0.99 * (len(ordered) - 1))]
    return result


def print_summary(result: dict[str, Any], console: Console) -> None:
    """Print the summary of a ping for a reader."""
    share = 100 * result["lost"] / result["sent"] if result["sent"] else 0
    console.print(
        f"\n{result['sent']} sent, {result['replied']} replied, {result['late']} late, "
        f"{result['lost']} lost ({share:.1f} %)",
        highlight=False,
    )
    table = Table(box=None, pad_edge=False)
    for title in ("", "n", "min", "median", "p99", "max"):
        table.add_column(title, justify="left" if not title else "right")
    rows = (
        ("user round trip", "rtt_user_ns"),
        ("kernel round trip", "rtt_kernel_ns"),
        ("added by this machine", "rtt_added_by_this_machine_ns"),
        ("send slip (one way)", "slip_one_way_ns"),
    )
    for title, key in rows:
        values = result[key]
        if values is not None:
            cells = (
                _us(values[k]) if k in values else "–" for k in ("min", "median", "p99", "max")
            )
            table.add_row(title, str(values["n"]), *cells)
    console.print(table)
    for warning in result["warnings"]:
        text = warning if isinstance(warning, str) else warning["message"]
        console.print(f"note: {text}", highlight=False, style="yellow")


def _us(nanoseconds: float) -> str:
    return f"{nanoseconds / MICRO:.1f}µs" if nanoseconds < 1e6 else f"{nanoseconds / 1e6:.3f}ms"
