"""Verb `delaylab ping`: a ping that says how much of the round trip arises in this machine."""

from __future__ import annotations

import ipaddress
import os
import random
import socket
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Literal

from rich.console import Console

from delaylab.agent import measuring_replies
from delaylab.agent.measuring_requests import Probe
from delaylab.agent.replies import Event
from delaylab.agent.result import AgentGone, Result
from delaylab.agent.session import Session
from delaylab.agent.stream import readable
from delaylab.errors import BadInput, DoesNotFit
from delaylab.io.interrupts import deferred
from delaylab.io.printable import printable
from delaylab.machines import LOCAL
from delaylab.units import Duration
from delaylab.verbs.ping_lines import line
from delaylab.verbs.ping_result import UNDER_WAY, PingPacket, PingResult
from delaylab.verbs.ping_tables import merged, packets_of
from delaylab.verbs.ping_view import View

AT_MOST = 100_000
"""Largest number of packets without -c: over a day at one per second."""
LONGEST = Duration.parse("876000h")
"""Longest ping: a hundred years, which the agent can still count in nanoseconds."""
PACKET_BYTES = 350
"""Memory that one packet takes, in the agent (80 bytes, beforehand) and here."""
WAIT = Duration(10_000_000_000)
"""The wait for replies after the last packet if none has come, as ping(8) has it."""
PARTS = Duration.parse("1s")
"""The time between two reports of a ping that nobody watches."""
HTTP_PORT = 80
IPV4 = 4
End = Literal["done", "deadline", "interrupted"]
"""The end of a ping: by its last reply, its deadline, or Ctrl-C."""
DONE: End = "done"
OnPacket = Callable[[PingPacket], None]


@dataclass(frozen=True)
class Options:
    """Options of a ping; a `count` of None means until Ctrl-C.

    An `interval` of 0 floods: the next packet goes out when a reply comes. `wait` is the time after
    the last packet to wait for a first reply. With `quiet` no packet is printed. By `tcp`
    and `http` the packets go to `port`; `http` requests `path`. The ping ends after `deadline`,
    whatever is under way then. `source` is the address to send from; None leaves it to the routes.
    """

    host: str
    count: int | None
    interval: Duration
    size: int
    version: int | None
    realtime: bool
    wait: Duration = WAIT
    quiet: bool = False
    ttl: int | None = None
    protocol: Literal["icmp", "tcp", "http"] = "icmp"
    port: int = 0
    path: str = "/"
    deadline: Duration | None = None
    source: str | None = None

    @property
    def packets(self) -> str:
        """Return what the packets are, for a reader."""
        if self.protocol == "tcp":
            return f"TCP handshakes with port {self.port}"
        if self.protocol == "http":
            return f"HTTP requests of {self.path} at port {self.port}"
        return f"{self.size} bytes of ICMP echo payload"


def resolve(host: str, version: int | None) -> str:
    """Return a host's address, with the zone if it is valid on one link only (RFC 4007).

    Raises BadInput if the host has no address, or a link-local one without a zone.
    """
    if version != IPV4 and _has_zone(host):
        # Only where the packets are sent it is known which interfaces there are.
        return host
    family = {None: socket.AF_UNSPEC, 4: socket.AF_INET, 6: socket.AF_INET6}[version]
    try:
        found = socket.getaddrinfo(host, None, family, socket.SOCK_DGRAM)
    except OSError as error:
        raise BadInput(f"no address for {host!r}: {error.strerror}") from None
    # Unlike the socket's address itself, this text has the zone.
    numeric = socket.NI_NUMERICHOST | socket.NI_NUMERICSERV
    address, _ = socket.getnameinfo(found[0][4], numeric)
    if ":" in address and not _has_zone(address) and ipaddress.ip_address(address).is_link_local:
        what = f"{address} is link-local: each interface may lead to another host of that address"
        raise BadInput(what, fix=f"name the interface: {address}%INTERFACE")
    return address


def own_address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """Return an address of this machine; raise BadInput if it is no address, or not one of them."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        what = f"{text!r} is no address"
        raise BadInput(what, "--source", "give one of this machine's: ip addr") from None
    family = socket.AF_INET if address.version == IPV4 else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((text, 0))
    except OSError as error:
        what = f"nothing can be sent from {text}: {error.strerror}"
        raise BadInput(what, "--source", "give an address of this machine: ip addr") from None
    return address


def _has_zone(host: str) -> bool:
    try:
        return ipaddress.IPv6Address(host).scope_id is not None
    except ValueError:
        return False


def run(
    options: Options,
    console: Console | None = None,
    session: Session | None = None,
    watch: OnPacket | None = None,
) -> PingResult:
    """Ping a host; print each reply if there is a console.

    `session` is one with the agent that sends, by default one of this machine; it is closed.
    `watch` is called with each packet once its fate is known.
    """
    check(options)
    address = resolve(options.host, options.version)
    session = session or LOCAL.session()
    if console is not None:
        kind = f"IPv{ipaddress.ip_address(address.split('%')[0]).version}"
        console.print(
            f"PING {options.host} ({address}), {kind}, {options.packets}",
            highlight=False,
        )
    packets: dict[int, PingPacket] = {}
    live = watch is not None or not options.quiet
    end: End = "done"
    died: AgentGone | None = None
    try:
        with _printer(console, options, address) as show:

            def on_packet(packet: PingPacket) -> None:
                # A packet that was given up for lost and answered after all has only one line.
                known = packets.get(packet.seq)
                packets[packet.seq] = packet
                if packet.outcome == UNDER_WAY:
                    return
                if known is None:
                    show(replace(packet, duplicates=0))
                    if watch is not None:
                        watch(packet)
                if packet.duplicates > (known.duplicates if known else 0):
                    show(packet)

            result = session.start(_reporting(request(options, address), live=live))
            try:
                end = finish(session, on_packet, options.deadline)
            except AgentGone as gone:
                died = gone
    finally:
        session.close()
    known = _packets(result, packets, live=live, stopped=end != "done")
    if died is not None:
        if not known:
            raise died
        sent = sum(packet.outcome != "refused" for packet in known)
        return PingResult(options.host, address, sent, known, realtime=False, cut_short=str(died))
    done = result.done
    return PingResult(
        host=options.host,
        address=address,
        sent=done.sent,
        packets=known,
        realtime=done.realtime,
        doubts=tuple(done.warnings),
        neighbour_ns=done.neighbour_ns,
        interrupted=end == "interrupted",
    )


@contextmanager
def _printer(console: Console | None, options: Options, address: str) -> Iterator[OnPacket]:
    """Yield what shows a packet: nobody, lines, or on a terminal lines with a picture below."""
    if console is None or options.quiet:
        yield lambda packet: None
    elif console.is_terminal:
        with View(console, options.interval.ns, address) as view:
            yield view.add
    else:

        def write(packet: PingPacket) -> None:
            # rich lays out each text; for a million packets that takes minutes.
            console.file.write(f"{printable(line(packet, address))}\n")
            console.file.flush()

        yield write


def finish(session: Session, on_packet: OnPacket, deadline: Duration | None = None) -> End:
    """Read a ping to its end, which Ctrl-C or a deadline brings about; return what ended it.

    Raises KeyboardInterrupt at the second Ctrl-C.
    """
    until_s = None if deadline is None else time.monotonic() + deadline.seconds
    reported = deque[PingPacket]()

    def on_event(event: Event) -> None:
        if event.packet is not None:
            reported.append(PingPacket.of(event.packet))

    ended, end = False, DONE
    while reported or not ended:
        try:
            while reported:
                on_packet(reported.popleft())
            if not ended:
                left_s = None if until_s is None else until_s - time.monotonic()
                if not readable(session, left_s):
                    until_s, end = None, "deadline"
                    session.stop()
                # What was read of the stream must not be lost to a Ctrl-C.
                with deferred():
                    ended = session.poll_done(on_event)
        except KeyboardInterrupt:
            if end == "interrupted":
                raise
            if not ended and end == DONE:
                session.stop()
            end = "interrupted"
    return end


def check(options: Options) -> None:
    """Raise BadInput for a ping without end; DoesNotFit if its packets do not fit into memory."""
    count = options.count or AT_MOST
    needed, free = count * PACKET_BYTES, LOCAL.available_bytes()
    if count * options.interval.ns > LONGEST.ns:
        raise BadInput(f"{count} packets at {options.interval} take over {LONGEST}")
    if needed > free:
        what = f"{count} packets need {needed / 1e9:.1f} GB of memory"
        raise DoesNotFit(f"{what}, and this machine has {free / 1e9:.1f} GB free", "--count")


def request(options: Options, address: str) -> Probe:
    """Return the agent's request for a ping."""
    return Probe(
        probe=random.Random(time.monotonic_ns() ^ os.getpid()).getrandbits(31),
        protocol=options.protocol,
        to=address,
        source=options.source,
        port=options.port,
        path=options.path,
        host=host_field(options),
        count=options.count or AT_MOST,
        interval_ns=options.interval.ns,
        size=options.size,
        linger_ns=options.wait.ns,
        late_ns=max(options.wait, WAIT).ns,
        stamps=("app", "stack"),
        realtime=options.realtime,
        ttl=options.ttl,
        live=True,
        linger_rtt=True,
        resolve=True,
    )


def _reporting(asked: Probe, *, live: bool) -> Probe:
    """Return the request with reports of its packets while it runs: one by one, or as tables.

    An agent that is killed has then lost only what came since the last report.
    """
    return replace(asked, live=live, parts_ns=None if live else PARTS.ns)


def host_field(options: Options) -> str:
    """Return the field `Host` of HTTP requests: the name that was given, with its port.

    A zone means nothing to the server, so it is left out (RFC 6874, section 4).
    """
    host = options.host.partition("%")[0]
    name = f"[{host}]" if ":" in host else host
    return name if options.port in (0, HTTP_PORT) else f"{name}:{options.port}"


def _packets(
    result: Result[measuring_replies.Probe],
    reported: dict[int, PingPacket],
    *,
    live: bool,
    stopped: bool,
) -> tuple[PingPacket, ...]:
    """Return a ping's packets by seq.

    The agent reports no more of them after it was stopped than its reader can take at once; the
    others are in its tables, as all are of a ping that nobody watches.
    """
    if not live or stopped:
        if "packets" not in result.parts or "stamps" not in result.parts:
            return ()
        return tuple(merged(packets_of(result), reported))
    return tuple(reported[seq] for seq in sorted(reported))
