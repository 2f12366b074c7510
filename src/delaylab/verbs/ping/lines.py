"""Lines of a ping for a reader: one per packet, and the summary."""

from __future__ import annotations

import ipaddress

from rich.console import Console
from rich.table import Table

from delaylab.io.printable import printable
from delaylab.verbs.ping.result import HTTP, NO_ANSWER, PingPacket, PingResult, no_p99
from delaylab.verbs.time_of_day import time_of_day

MICRO = 1e3
NAMED = 3
"""Largest number of errors that a summary names."""
OUTCOMES = {"closed": "port closed"}
"""Words for a reader, of outcomes whose names do not say enough."""


def line(packet: PingPacket, asked: str = "") -> str:
    """Return one packet's line for a reader, with the time of day at which it was sent.

    `asked` is the address that was pinged.
    """
    at = "" if packet.sent_ns is None else f"  at={time_of_day(packet.sent_ns)}"
    return f"{_of_packet(packet, asked)}{at}"


def _of_packet(packet: PingPacket, asked: str) -> str:
    head = f"seq={packet.seq}"
    if packet.duplicates:
        return f"{head} duplicate: {packet.duplicates + 1} replies so far"
    if packet.rtt_user_ns is None:
        return f"{head} {packet.outcome}{f': {packet.error}' if packet.error else ''}"
    parts = [head, f"ttl={packet.ttl}" if packet.ttl else ""]
    parts.append("" if packet.handshake_ns is None else f"handshake={us(packet.handshake_ns)}")
    answer = packet.answer or NO_ANSWER
    parts.append("" if answer.tls_ns is None else f"tls={us(answer.tls_ns)}")
    parts.append(f"user={us(packet.rtt_user_ns)}")
    if packet.rtt_kernel_ns is not None and packet.added_ns is not None:
        parts += [f"kernel={us(packet.rtt_kernel_ns)}", f"added-here={us(packet.added_ns)}"]
    parts.append(f"slip={us(packet.slip_ns)}" if packet.slip_ns is not None else "")
    parts.append(f"whole={us(answer.whole_ns)}" if answer.whole_ns is not None else "")
    parts.append(f"bytes={answer.bytes}" if answer.bytes is not None else "")
    if packet.outcome != "replied":
        parts.append(f"({OUTCOMES.get(packet.outcome, packet.outcome)})")
    parts.append(f"from {packet.sender}" if _is_another(packet.sender, asked) else "")
    parts.append(f"({packet.error})" if packet.error else "")
    parts.append(f"(redirected: {packet.redirect})" if packet.redirect else "")
    return "  ".join(part for part in parts if part)


def _is_another(sender: str | None, asked: str) -> bool:
    """Return True if an address is known not to be the one that was pinged."""
    if not sender or not asked:
        return False
    # A zone may be written as a name or as a number.
    one, other = (ipaddress.ip_address(each.partition("%")[0]) for each in (sender, asked))
    return one != other


def print_summary(result: PingResult, console: Console) -> None:
    """Print the summary of a ping for a reader."""
    closed = f" ({result.closed} by a closed port)" if result.closed else ""
    console.print(
        f"\n{result.sent} sent, {result.replied} replied{closed}, {result.late} late, "
        f"{result.lost} lost ({100 * result.loss:.1f} %){_extras(result)}",
        highlight=False,
    )
    table = Table(box=None, pad_edge=False)
    for title in ("", "n", "min", "median", "p99", "max"):
        table.add_column(title, justify="left" if not title else "right")
    rows = (
        ("TCP handshake", result.handshake_ns),
        ("agreeing on TLS", result.tls_ns),
        ("user round trip", result.rtt_user_ns),
        ("to the last byte", result.whole_ns),
        ("kernel round trip", result.rtt_kernel_ns),
        ("added by this machine", result.added_ns),
        ("send slip (one way)", result.slip_ns),
    )
    for title, found in rows:
        if found is not None:
            p99 = "–" if found.p99 is None else us(found.p99)
            table.add_row(title, str(found.n), us(found.min), us(found.median), p99, us(found.max))
    console.print(table)
    if why := no_p99([result.rtt_user_ns]):
        console.print(why, highlight=False, style="dim")
    if result.jitter_user_ns is not None:
        kernel = result.jitter_kernel_ns
        console.print(
            f"jitter, the mean step from packet to packet: user {us(result.jitter_user_ns)}"
            + (f", kernel {us(kernel)}" if kernel is not None else ""),
            highlight=False,
        )
    if result.neighbour_ns is not None:
        console.print(
            f"before the first packet: the next hop's address resolved in "
            f"{us(result.neighbour_ns)}",
            highlight=False,
        )
    for each in result.clean.lines if result.clean else ():
        console.print(each, highlight=False, markup=False, soft_wrap=True)
    for warning in result.warnings:
        console.print(f"note: {warning}", highlight=False, style="yellow")
    for each in result.why.lines if result.why else ():
        console.print(printable(each), highlight=False, markup=False, soft_wrap=True)
    for each in result.machine.lines if result.machine else ():
        console.print(printable(each), highlight=False, markup=False, soft_wrap=True)


def _extras(result: PingResult) -> str:
    """Return the summary's counts of what not every ping has."""
    counts = (
        (result.under_way, "under way", "under way"),
        (result.mismatched, "mismatched reply", "mismatched replies"),
        (result.duplicates, "duplicate reply", "duplicate replies"),
        (result.redirected, "redirected", "redirected"),
        (result.flawed, "reply with errors", "replies with errors"),
    )
    told = "".join(f", {n} {one if n == 1 else many}" for n, one, many in counts if n)
    what = [error for error in result.errors if error.startswith(HTTP)][:NAMED]
    return f"{told} ({', '.join(what)})" if what else told


def us(nanoseconds: float) -> str:
    """Return a time in µs, from 1 ms on in ms."""
    return f"{nanoseconds / MICRO:.1f}µs" if nanoseconds < 1e6 else f"{nanoseconds / 1e6:.3f}ms"
