"""Verb `delaylab ping`: a ping that says how much of the round trip arises in this machine."""

from __future__ import annotations

import ipaddress
import os
import random
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from rich.console import Console

from delaylab.agent.measuring_requests import Probe
from delaylab.agent.result import AgentGone
from delaylab.agent.session import Session
from delaylab.causes.explained import Explained
from delaylab.causes.words import sentence, us
from delaylab.errors import BadInput, DoesNotFit
from delaylab.io.printable import printable
from delaylab.machines import LOCAL
from delaylab.units import Duration
from delaylab.verbs.ping.addresses import ANYWHERE, PingOrigin, resolve
from delaylab.verbs.ping.late import LostPacket
from delaylab.verbs.ping.lines import line
from delaylab.verbs.ping.machine import during, watching
from delaylab.verbs.ping.reading import End, OnPacket, Reader, deadline_s, finish
from delaylab.verbs.ping.result import UNDER_WAY, PingPacket, PingResult
from delaylab.verbs.ping.tables import merged, packets_of
from delaylab.verbs.ping.target import Asking, Protocol, Target
from delaylab.verbs.ping.view import View
from delaylab.verbs.ping.why import OnLate, explaining

if TYPE_CHECKING:
    from delaylab.lab.links.passages import WithinLab

AT_MOST = 100_000
"""Largest number of packets without -c: over a day at one per second."""
WEB = ("http", "https")
NOTHING = Asking()
LONGEST = Duration.parse("876000h")
"""Longest ping: a hundred years, which the agent can still count in nanoseconds."""
PACKET_BYTES = 350
"""Memory that one packet takes, in the agent (80 bytes, beforehand) and here."""
WAIT = Duration(10_000_000_000)
"""The wait for replies after the last packet if none has come, as ping(8) has it."""
PARTS = Duration.parse("1s")
"""The time between two reports of a ping that nobody watches."""


@dataclass(frozen=True)
class PingOptions:
    """Options of a ping; a `count` of None means until Ctrl-C.

    An `interval` of 0 floods: the next packet goes out when a reply comes. `wait` is the time after
    the last packet to wait for a first reply. With `quiet` no packet is printed. But for `icmp` the
    packets go to `port`; `http` and `https` request `path`. The ping ends after `deadline`,
    whatever is under way then. `tos` is the type of service or traffic class of its packets.
    With `repeats` packets that this machine biased are refused, and at most so many
    are sent again (`clean`). With `why` the causes of late packets are looked for.
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
    protocol: Protocol = "icmp"
    port: int = 0
    path: str = "/"
    asking: Asking = NOTHING
    deadline: Duration | None = None
    origin: PingOrigin = ANYWHERE
    tos: int | None = None
    repeats: int | None = None
    why: bool = False

    @property
    def target(self) -> str:
        """Return what is asked: the host, with port and path where the protocol has them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        if self.protocol == "icmp":
            return self.host
        path = self.path if self.protocol in WEB else ""
        scheme = "udp" if self.protocol == "datagram" else self.protocol
        return f"{scheme}://{host}:{self.port}{path}"

    @property
    def packets(self) -> str:
        """Return what the packets are, for a reader."""
        if self.protocol == "tcp":
            return f"TCP handshakes with port {self.port}"
        if self.protocol in WEB:
            kept = ", on connections that are kept" if self.asking.keep_alive else ""
            return f"{self.protocol.upper()} requests of {self.path} at port {self.port}{kept}"
        if self.protocol == "dns":
            record = self.asking.record or "A"
            return f"DNS queries for {self.asking.dns} ({record}) at port {self.port}"
        if self.protocol == "datagram":
            return f"datagrams of yours at UDP port {self.port}"
        return f"{self.size} bytes of ICMP echo payload"


class OnePing:
    """A ping under way: its packets so far, and what each is shown to.

    `session` is one with the agent that sends; `end` closes it.
    """

    def __init__(
        self,
        options: PingOptions,
        address: str,
        session: Session,
        shown_to: Sequence[OnPacket] | None,
    ) -> None:
        self.options, self.address = options, address
        self._session, self._shown_to = session, shown_to or ()
        self._live = shown_to is not None
        self._packets: dict[int, PingPacket] = {}
        self.reader = Reader(session, self._add)
        self.asked = _reporting(request(options, address), live=self._live)

    def start(self) -> None:
        """Have the agent begin."""
        self._result = self._session.start(self.asked)

    def end(self) -> None:
        """Close the session."""
        self._session.close()

    def _add(self, packet: PingPacket) -> None:
        # A packet that was given up for lost and answered after all has only one line.
        known = self._packets.get(packet.seq)
        self._packets[packet.seq] = packet
        if packet.outcome == UNDER_WAY:
            return
        if known is None:
            self._show(replace(packet, duplicates=0))
        if packet.duplicates > (known.duplicates if known else 0):
            self._show(packet)

    def _show(self, packet: PingPacket) -> None:
        for show in self._shown_to:
            show(packet)

    def result(self, end: End) -> PingResult:
        """Return what was found out by this end; raise AgentError if that is nothing."""
        failed, host = self.reader.failed, self.options.host
        known = self._known(stopped=end != "done")
        if failed is not None:
            if not known or not isinstance(failed, AgentGone):
                raise failed
            sent = sum(packet.outcome != "refused" for packet in known)
            return PingResult(
                host,
                self.address,
                sent,
                known,
                realtime=False,
                cut_short=str(failed),
                target=self.options.target,
            )
        done = self._result.done
        return PingResult(
            host=host,
            address=self.address,
            sent=done.sent,
            packets=known,
            realtime=done.realtime,
            doubts=tuple(done.warnings),
            neighbour_ns=done.neighbour_ns,
            interrupted=end == "interrupted",
            target=self.options.target,
        )

    def _known(self, *, stopped: bool) -> tuple[PingPacket, ...]:
        """Return the packets by seq.

        The agent reports no more of them after it was stopped than its reader can take at once; the
        others are in its tables, as all are of a ping that nobody watches.
        """
        if not self._live or stopped:
            if "packets" not in self._result.parts or "stamps" not in self._result.parts:
                return ()
            return tuple(merged(packets_of(self._result), self._packets))
        return tuple(self._packets[seq] for seq in sorted(self._packets))


def run(
    options: PingOptions,
    console: Console | None = None,
    session: Session | None = None,
    watch: OnPacket | None = None,
    within: WithinLab | None = None,
    on_late: OnLate | None = None,
) -> PingResult:
    """Ping a host; print each reply if there is a console.

    `session` is one with the agent that sends, by default one of this machine, which is then
    watched; it is closed. `within` is where in a lab the agent is. `watch` is
    called with each packet once its fate is known; `on_late`, with `why`, for late ones.
    """
    check(options)
    address = resolve(options.host, options.version, options.origin.interface)
    here, session = session is None, session or LOCAL.session()
    if console is not None:
        print_head(options, address, console)
    with ExitStack() as stack:
        stack.callback(session.close)
        listeners = [] if on_late is None else [on_late]
        if console is not None and not options.quiet:
            tell = partial(_tell_why, console)
            listeners.append(OnLate(explained=tell, lost=tell))
        why = stack.enter_context(explaining(session, within, listeners)) if options.why else None
        with printer(console, options, address) as show:
            also = [watch, why.add if why else None]
            shown_to = [show, *(each for each in also if each is not None)]
            live = len(shown_to) > 1 or not options.quiet
            one = OnePing(options, address, session, shown_to if live else None)
            if why:
                why.probe, why.service_port = one.asked.probe, one.asked.port
            one.start()
            until_s = deadline_s(options.deadline)
            machine = stack.enter_context(watching()) if here else None
            beside = [machine, why.recording if why else None]
            end = finish([one.reader], until_s, *(each for each in beside if each is not None))
        meanwhile = machine.end() if machine else None
        late = why.end() if why else None
    result = replace(one.result(end), why=late)
    if meanwhile is None:
        return result
    return replace(result, machine=during(meanwhile, result.packets))


def _tell_why(console: Console, found: Explained | LostPacket) -> None:
    if isinstance(found, LostPacket):
        text = f"seq={found.seq} lost: {found.text}"
    else:
        text = f"seq={found.seq} late by {us(found.excess_ns)}: {sentence(found)}"
    console.print(printable(text), highlight=False, markup=False, soft_wrap=True)


def print_head(options: PingOptions, address: str, console: Console) -> None:
    """Print who is pinged by what."""
    kind = f"IPv{ipaddress.ip_address(address.partition('%')[0]).version}"
    text = f"PING {options.host} ({address}), {kind}, {options.packets}"
    console.print(text, highlight=False)


@contextmanager
def printer(console: Console | None, options: PingOptions, address: str) -> Iterator[OnPacket]:
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


def check(options: PingOptions, hosts: int = 1) -> None:
    """Raise BadInput for a ping without end; DoesNotFit if the packets do not fit into memory."""
    count = options.count or AT_MOST
    needed, free = hosts * count * PACKET_BYTES, LOCAL.available_bytes()
    if count * options.interval.ns > LONGEST.ns:
        raise BadInput(f"{count} packets at {options.interval} take over {LONGEST}")
    if needed > free:
        what = f"{hosts * count} packets need {needed / 1e9:.1f} GB of memory"
        raise DoesNotFit(f"{what}, and this machine has {free / 1e9:.1f} GB free", "--count")


def request(options: PingOptions, address: str) -> Probe:
    """Return the agent's request for a ping; raise BadInput if a file that it names is missing."""
    to = Target(options.host, options.protocol, options.port, options.path)
    return Probe(
        probe=random.Random(time.monotonic_ns() ^ os.getpid()).getrandbits(31),
        protocol=options.protocol,
        to=address,
        source=options.origin.address,
        interface=options.origin.interface,
        tos=options.tos,
        port=options.port,
        ask=options.asking.request(to),
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
