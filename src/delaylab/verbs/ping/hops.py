"""Hop mode of `delaylab ping`: loss and round trip to each router on the way, as mtr shows them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace

from rich.console import Console
from rich.live import Live
from rich.table import Table

from delaylab.io.printable import printable
from delaylab.io.values import JsonObject
from delaylab.machines import LOCAL
from delaylab.units import Duration
from delaylab.verbs.ping import run as ping
from delaylab.verbs.ping.addresses import resolve
from delaylab.verbs.ping.during import MachineDuring
from delaylab.verbs.ping.lines import us
from delaylab.verbs.ping.machine import during, watching
from delaylab.verbs.ping.reading import OnPacket, ReadBeside, Reader, finish
from delaylab.verbs.ping.result import UNDER_WAY, PingPacket, Spread, no_p99, spread

MOST_HOPS = 30
"""Longest path that is looked for, as traceroute(8) has it."""
SEARCH = Duration.parse("20ms")
SEARCH_WAIT = Duration.parse("2s")
"""The interval of the search for the path's length, and its wait for a first answer."""
REACHED = ("replied", "late")
EXPIRED = "expired"
ICMP = re.compile(r"\(ICMP type (\d+) code (\d+), from (\S+)\)")
"""The end of an error that a router sent."""
PROHIBITS = frozenset({(3, 9), (3, 10), (3, 13), (1, 1), (1, 5), (1, 6)})
"""Types and codes of *administratively prohibited*: RFC 1812, section 5.2.7.1, and RFC 4443."""
PROHIBITED = "prohibited"


@dataclass(frozen=True, slots=True)
class Refused:
    """A router's answer that it did not forward a packet, by ICMP's type and code."""

    address: str
    type: int
    code: int

    @property
    def text(self) -> str:
        """Return the router with its reason."""
        return f"{self.address} ({PROHIBITED if self.prohibits else 'unreachable'})"

    @property
    def prohibits(self) -> bool:
        """Return True if the router says that it may not forward the packet."""
        return (self.type, self.code) in PROHIBITS

    @staticmethod
    def of(packet: PingPacket) -> Refused | None:
        """Return what a router said of a packet without an answer; None if it said nothing."""
        found = ICMP.search(packet.error or "") if packet.sender is None else None
        return Refused(found[3], int(found[1]), int(found[2])) if found else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbedHop:
    """One hop: the routers that answered there, and the round trips to them in ns.

    Several `addresses` mean that packets took different paths. `reached` is True for the
    destination. `refused` has the routers that did not forward packets to this hop, each with its
    reason; these packets are lost.
    """

    ttl: int
    addresses: tuple[str, ...]
    sent: int
    answered: int
    reached: bool
    rtt_user_ns: Spread | None
    rtt_kernel_ns: Spread | None
    under_way: int = 0
    refused: tuple[Refused, ...] = ()

    @property
    def lost(self) -> int:
        """Return the number of packets to this hop that were not answered in time."""
        return self.sent - self.answered - self.under_way

    @property
    def loss(self) -> float | None:
        """Return the share of lost packets among those whose fate is known; None without any."""
        known = self.sent - self.under_way
        return self.lost / known if known else None

    def as_json(self) -> JsonObject:
        """Return the hop as `ping --hops --json` prints it."""
        return {
            "ttl": self.ttl,
            "addresses": list(self.addresses),
            "sent": self.sent,
            "lost": self.lost,
            **({"under_way": self.under_way} if self.under_way else {}),
            "reached": self.reached,
            **({"refused": [asdict(each) for each in self.refused]} if self.refused else {}),
            "rtt_user_ns": self.rtt_user_ns.as_json() if self.rtt_user_ns else None,
            "rtt_kernel_ns": self.rtt_kernel_ns.as_json() if self.rtt_kernel_ns else None,
        }


@dataclass(frozen=True, slots=True)
class HopsResult:
    """The hops to a host, nearest first, up to the last that answered."""

    host: str
    address: str
    hops: tuple[ProbedHop, ...]
    interrupted: bool = False
    machine: MachineDuring | None = None

    @property
    def reached(self) -> bool:
        """Return True if the host itself answered."""
        return any(hop.reached for hop in self.hops)

    def as_json(self) -> JsonObject:
        """Return the result as `ping --hops --json` prints it."""
        return {
            "host": self.host,
            "address": self.address,
            "reached": self.reached,
            "hops": [hop.as_json() for hop in self.hops],
            **({} if self.machine is None else {"machine": self.machine.as_json()}),
        }


def run(options: ping.PingOptions, console: Console | None = None) -> HopsResult:
    """Find the hops to a host, then probe each once per interval; show them while it runs."""
    address = resolve(options.host, options.version, options.origin.interface)
    length, refused = _search(options, address)
    rounds = options.count or ping.AT_MOST // length
    to_all = _to_all(options, length, rounds)
    ping.check(to_all)
    packets: dict[int, PingPacket] = {}
    if console is not None:
        console.print(
            f"HOPS to {options.host} ({address}), {length} hop{'s' * (length != 1)}",
            highlight=False,
        )
    watched = console is not None and console.is_terminal and not options.quiet
    with Live(console=console, auto_refresh=False, transient=True) as live:

        def on_packet(packet: PingPacket) -> None:
            packets[packet.seq] = packet
            # A table per round: the packets of a round arrive together.
            if watched and packet.seq % length == 0:
                live.update(table(hops_of(packets.values(), length)), refresh=True)

        with watching() as machine:
            interrupted = _probe(to_all, address, length, on_packet, machine)
            meanwhile = machine.end()
    *hops, last = hops_of(packets.values(), length)
    # A router says so once a second (Linux): the search may have had its answers.
    last = replace(last, refused=tuple(dict.fromkeys((*last.refused, *refused))))
    # Hops differ in their round trips: no packet is late by those of others.
    return HopsResult(options.host, address, (*hops, last), interrupted, during(meanwhile, ()))


def _search(options: ping.PingOptions, address: str) -> tuple[int, tuple[Refused, ...]]:
    """Return the number of hops to the host, and the router that did not forward packets to it.

    If the host does not answer, they are the hops to the last router that does.
    """
    found: dict[int, PingPacket] = {}
    search = replace(options, interval=Duration(SEARCH.ns * MOST_HOPS), wait=SEARCH_WAIT)
    to_all = _to_all(search, MOST_HOPS, 1)
    if _probe(to_all, address, MOST_HOPS, lambda packet: found.update({packet.seq: packet})):
        raise KeyboardInterrupt
    reached = [seq for seq, packet in found.items() if packet.outcome in REACHED]
    passed = [seq for seq, packet in found.items() if packet.outcome == EXPIRED]
    refused = {seq: said for seq, packet in found.items() if (said := Refused.of(packet))}
    if reached or not refused:
        return min(reached or [max(passed, default=0)]) + 1, ()
    nearest = min(refused)
    return nearest + 1, (refused[nearest],)


def _to_all(options: ping.PingOptions, length: int, rounds: int) -> ping.PingOptions:
    """Return the options of one sender for all hops: each is probed once per interval."""
    between = Duration(options.interval.ns // length)
    return replace(options, count=rounds * length, interval=between)


def _probe(
    to_all: ping.PingOptions,
    address: str,
    length: int,
    on_packet: OnPacket,
    beside: ReadBeside | None = None,
) -> bool:
    """Probe the hops in turn; return True if Ctrl-C ended it."""
    request = replace(ping.request(to_all, address), hops=length)
    session = LOCAL.session()
    try:
        session.start(request)
        reader = Reader(session, on_packet)
        interrupted = finish([reader], None, *([beside] if beside else [])) == "interrupted"
    finally:
        session.close()
    if reader.failed is not None:
        raise reader.failed
    return interrupted


def hops_of(packets: Iterable[PingPacket], length: int) -> tuple[ProbedHop, ...]:
    """Return the hops of these packets: packet i went to hop i mod `length` + 1."""
    by_ttl: dict[int, list[PingPacket]] = {ttl: [] for ttl in range(1, length + 1)}
    for packet in packets:
        if packet.outcome != "unsent":
            by_ttl[packet.seq % length + 1].append(packet)
    return tuple(_hop(ttl, sent) for ttl, sent in by_ttl.items())


def _hop(ttl: int, sent: list[PingPacket]) -> ProbedHop:
    answered = [packet for packet in sent if packet.sender is not None]
    return ProbedHop(
        ttl=ttl,
        addresses=tuple(dict.fromkeys(packet.sender for packet in answered if packet.sender)),
        sent=len(sent),
        answered=len(answered),
        reached=any(packet.outcome in REACHED for packet in answered),
        rtt_user_ns=spread(packet.rtt_user_ns for packet in answered),
        rtt_kernel_ns=spread(packet.rtt_kernel_ns for packet in answered),
        under_way=sum(packet.outcome == UNDER_WAY for packet in sent),
        refused=tuple(
            dict.fromkeys(said for packet in sent if (said := Refused.of(packet)) is not None)
        ),
    )


def table(hops: Iterable[ProbedHop]) -> Table:
    """Return the hops as a table for a reader."""
    made = Table(box=None, pad_edge=False)
    for title in ("hop", "address", "sent", "loss", "RTT min", "median", "p99", "max"):
        made.add_column(title, justify="left" if title == "address" else "right", no_wrap=True)
    for hop in hops:
        found = hop.rtt_user_ns
        loss = "" if hop.loss is None else f"{100 * hop.loss:.0f} %"
        times = [us(each) for each in (found.min, found.median)] if found else ["–", "–"]
        times += [us(found.p99) if found.p99 is not None else "–"] if found else ["–"]
        times += [us(found.max)] if found else ["–"]
        names = [*hop.addresses, *(each.text for each in hop.refused)]
        made.add_row(str(hop.ttl), "\n".join(names) or "no answer", str(hop.sent), loss, *times)
    return made


def print_summary(result: HopsResult, console: Console) -> None:
    """Print the hops for a reader."""
    console.print(table(result.hops))
    if why := no_p99(hop.rtt_user_ns for hop in result.hops):
        console.print(why, highlight=False, style="dim")
    last = result.hops[-1] if result.hops else None
    if last and any((hop.loss or 0) > (last.loss or 0) for hop in result.hops):
        console.print(
            "note: hops that lose more than the last one limit how often they answer (Linux: one "
            "answer a second); the path itself loses no more than the last hop",
            style="yellow",
            highlight=False,
        )
    under_way = sum(hop.under_way for hop in result.hops)
    if under_way:
        console.print(
            f"{under_way} of the packets sent were still under way and count as neither answered "
            "nor lost",
            highlight=False,
        )
    if not result.reached:
        by = [each for hop in result.hops for each in hop.refused]
        why = f": {by[0].text} did not forward the packets" if by else ""
        told = f"{result.host} itself did not answer{why}"
        console.print(told, style="yellow", highlight=False)
    for line in result.machine.lines if result.machine else ():
        console.print(printable(line), highlight=False, markup=False, soft_wrap=True)
