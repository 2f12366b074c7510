"""Result of a ping: every packet, and spreads over them; all times in ns."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from delaylab.agent.wire.sessions import LivePacket
from delaylab.io.values import JsonObject
from delaylab.records.doubts import Doubt
from delaylab.verbs.ping.cleaned import CleanFound
from delaylab.verbs.ping.during import MachineDuring
from delaylab.verbs.ping.late import LateFound

UNDER_WAY = "under-way"
HTTP = "HTTP "
"""Start of the error of an HTTP answer that is neither success nor redirection."""
REDIRECT = f"{HTTP}3"
ENOUGH_FOR_P99 = 500
"""Smallest number of values for which p99 is given: five are expected beyond it, as in studies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PingAnswer:
    """The facts about a service's answer beyond its first byte; None for what it does not have.

    `tls_ns` is how long it took to agree on TLS, `whole_ns` the time from the request to the last
    byte, `status` that of HTTP, or DNS's response code, and `bytes` the length of the body.
    """

    tls_ns: int | None
    whole_ns: int | None
    status: int | None
    bytes: int | None

    @staticmethod
    def of(found: LivePacket) -> PingAnswer | None:
        """Return what an agent's event says; None if no service was asked."""
        answer = PingAnswer(
            tls_ns=found.tls_ns,
            whole_ns=found.whole_ns,
            status=found.status,
            bytes=found.bytes,
        )
        return None if answer == NO_ANSWER else answer

    def as_json(self) -> JsonObject:
        """Return the answer as `ping --json` prints it in its packet."""
        return {
            **({} if self.tls_ns is None else {"tls_ns": self.tls_ns}),
            "whole_ns": self.whole_ns,
            "status": self.status,
            "bytes": self.bytes,
        }


NO_ANSWER = PingAnswer(tls_ns=None, whole_ns=None, status=None, bytes=None)


@dataclass(frozen=True, slots=True)
class PingPacket:
    """One packet of a ping; a time is None where a stamp is missing.

    `rtt_user_ns` is the round trip as programs see it, `rtt_kernel_ns` that between the kernel's
    stamps, `slip_ns` how late the packet was sent. `outcome` is `replied`, `closed` if the reply
    says that the TCP port is closed, `lost`, `late` if the reply came after the packet was given up
    for lost, `mismatched` if what answered it is no reply, `under-way` if it could still be
    answered when Ctrl-C ended the ping, or `refused` by this machine's kernel. `handshake_ns` is
    how long it took to open the connection of an HTTP request, whose round trip begins after that.
    `sender` is the address that answered, None if it is not known. `error` is why there is no
    answer, or what is wrong with it. `duplicates` is the number of further replies. `redirect` is
    the status of an HTTP answer that names another place, such as `HTTP 301`: it is no error, and
    nobody goes there. `sent_ns` is when it was sent, since 1970, `left_ns` the kernel's stamp of
    that; `answer` what a service answered, `port` the source port of a request to one.
    """

    seq: int
    rtt_user_ns: int | None
    rtt_kernel_ns: int | None
    slip_ns: int | None
    outcome: str
    sender: str | None
    ttl: int | None
    error: str | None
    handshake_ns: int | None = None
    duplicates: int = 0
    redirect: str | None = None
    sent_ns: int | None = None
    answer: PingAnswer | None = None
    left_ns: int | None = None
    port: int | None = None

    @property
    def opening_ns(self) -> int:
        """Return how long it took to open a connection for it, and to agree on TLS; 0 without."""
        agreeing = self.answer.tls_ns if self.answer else None
        return 0 if self.handshake_ns is None else self.handshake_ns + (agreeing or 0)

    @property
    def flawed(self) -> bool:
        """Return True if the packet has an answer, and that is not as it should be."""
        return self.rtt_user_ns is not None and self.error is not None

    @property
    def http_class(self) -> str:
        """Return the class of an HTTP answer's status, `none` of what is not HTTP."""
        if self.redirect is not None:
            return "3xx"
        if self.error is None:
            return "2xx"
        code = self.error.removeprefix(HTTP)
        return f"{code[0]}xx" if code.isdecimal() else "none"

    @property
    def added_ns(self) -> int | None:
        """Return user minus kernel round trip: the delay that arises in the sending machine."""
        if self.rtt_user_ns is None or self.rtt_kernel_ns is None:
            return None
        return self.rtt_user_ns - self.rtt_kernel_ns

    @staticmethod
    def of(packet: LivePacket) -> PingPacket:
        """Return the packet of an agent's event."""
        error, redirect = error_or_redirect(packet.error)
        return PingPacket(
            seq=packet.seq,
            rtt_user_ns=packet.rtt_app_ns,
            rtt_kernel_ns=packet.rtt_stack_ns,
            slip_ns=packet.slip_ns,
            outcome=packet.outcome,
            sender=packet.source,
            ttl=packet.ttl,
            error=error,
            handshake_ns=packet.handshake_ns,
            duplicates=packet.duplicates,
            redirect=redirect,
            sent_ns=packet.sent_ns,
            answer=PingAnswer.of(packet),
            left_ns=packet.left_ns,
            port=packet.port,
        )

    def as_json(self) -> JsonObject:
        """Return the packet as `ping --json` prints it."""
        return {
            "seq": self.seq,
            "sent_ns": self.sent_ns,
            "rtt_app_ns": self.rtt_user_ns,
            "rtt_stack_ns": self.rtt_kernel_ns,
            "slip_ns": self.slip_ns,
            "outcome": self.outcome,
            "from": self.sender,
            "ttl": self.ttl,
            "error": self.error,
            **({} if self.redirect is None else {"redirect": self.redirect}),
            **({"duplicates": self.duplicates} if self.duplicates else {}),
            **({} if self.handshake_ns is None else {"handshake_ns": self.handshake_ns}),
            **({} if self.answer is None else self.answer.as_json()),
        }


def error_or_redirect(told: str | None) -> tuple[str | None, str | None]:
    """Return what an agent told of an answer as its error, and as its redirection to elsewhere."""
    return (None, told) if told is not None and told.startswith(REDIRECT) else (told, None)


@dataclass(frozen=True, slots=True)
class Spread:
    """The number of values of a sample, and its quantiles; `p99` is None below 500 values."""

    n: int
    min: float
    median: float
    max: float
    p99: float | None = None

    def as_json(self) -> dict[str, float]:
        """Return the spread as `ping --json` prints it."""
        found = {"n": self.n, "min": self.min, "median": self.median, "max": self.max}
        return found if self.p99 is None else {**found, "p99": self.p99}


@dataclass(frozen=True, slots=True)
class PingResult:
    """Packets of a ping and what the sending machine added to their round trips.

    `packets` has each packet once, by seq. `realtime` is True if the sender had real-time
    scheduling. `doubts` are the agent's warnings. `neighbour_ns` is how long it took to resolve the
    next hop's address before the first packet, None if it was known. `interrupted` is True if
    Ctrl-C ended the ping. `cut_short` says why its agent died before the end, None if it did not;
    the packets are then those that it had reported, and `realtime` is not known. `target` is what
    was asked: of HTTP the URL, of TCP host and port, else the host. `machine` is what the sending
    machine did meanwhile, None if it was not watched. `clean` says which packets it biased, if
    they were repeated, `why` why packets were late, if that was asked for.
    """

    host: str
    address: str
    sent: int
    packets: tuple[PingPacket, ...]
    realtime: bool
    doubts: tuple[Doubt, ...] = ()
    neighbour_ns: int | None = None
    interrupted: bool = False
    cut_short: str | None = None
    target: str = ""
    machine: MachineDuring | None = None
    clean: CleanFound | None = None
    why: LateFound | None = None

    @property
    def replied(self) -> int:
        """Return the number of packets that were answered in time, also by a closed port."""
        return self._count("replied") + self.closed

    @property
    def closed(self) -> int:
        """Return the number of packets to which a closed TCP port answered."""
        return self._count("closed")

    @property
    def late(self) -> int:
        """Return the number of packets that were answered after they were given up for lost."""
        return self._count("late")

    @property
    def lost(self) -> int:
        """Return the number of packets that were not answered."""
        return self.sent - self.replied - self.late - self.mismatched - self.under_way

    @property
    def mismatched(self) -> int:
        """Return the number of packets that were answered by what is no reply."""
        return self._count("mismatched")

    @property
    def under_way(self) -> int:
        """Return the number of packets that could still be answered when Ctrl-C ended the ping."""
        return self._count(UNDER_WAY)

    @property
    def loss(self) -> float:
        """Return the share of lost packets among those whose fate is known."""
        known = self.sent - self.under_way
        return self.lost / known if known else 0.0

    @property
    def duplicates(self) -> int:
        """Return the number of replies beyond the first one of each packet."""
        return sum(packet.duplicates for packet in self.packets)

    @property
    def flawed(self) -> int:
        """Return the number of packets whose answer is not as it should be."""
        return sum(packet.flawed for packet in self.packets)

    @property
    def errors(self) -> dict[str, int]:
        """Return how many answers are not as they should be, by what is wrong, the most first."""
        found = Counter(each.error for each in self.packets if each.flawed and each.error)
        return dict(found.most_common())

    @property
    def redirected(self) -> int:
        """Return the number of packets whose answer names another place."""
        return sum(packet.redirect is not None for packet in self.packets)

    @property
    def served(self) -> int:
        """Return the number of packets with an answer in time that is as it should be."""
        return sum(each.outcome == "replied" and not each.flawed for each in self.packets)

    @property
    def handshake_ns(self) -> Spread | None:
        """Return how long it took to open connections for HTTP requests; None without any."""
        return spread(packet.handshake_ns for packet in self.packets)

    @property
    def tls_ns(self) -> Spread | None:
        """Return how long it took to agree on TLS; None without any."""
        return spread(each.answer.tls_ns for each in self.packets if each.answer)

    @property
    def whole_ns(self) -> Spread | None:
        """Return the time from a request to the last byte of its answer; None without any."""
        return spread(each.answer.whole_ns for each in self.packets if each.answer)

    @property
    def rtt_user_ns(self) -> Spread | None:
        """Return the round trip as programs see it; None without an answer."""
        return spread(packet.rtt_user_ns for packet in self.packets)

    @property
    def rtt_kernel_ns(self) -> Spread | None:
        """Return the round trip between the kernel's stamps; None without such stamps."""
        return spread(packet.rtt_kernel_ns for packet in self.packets)

    @property
    def added_ns(self) -> Spread | None:
        """Return user minus kernel round trip: the delay that arises in the sending machine."""
        return spread(packet.added_ns for packet in self.packets)

    @property
    def jitter_user_ns(self) -> float | None:
        """Return the jitter of the round trip as programs see it (`jitter`)."""
        return jitter((packet.seq, packet.rtt_user_ns) for packet in self.packets)

    @property
    def jitter_kernel_ns(self) -> float | None:
        """Return the jitter of the round trip between the kernel's stamps (`jitter`)."""
        return jitter((packet.seq, packet.rtt_kernel_ns) for packet in self.packets)

    @property
    def slip_ns(self) -> Spread | None:
        """Return how late packets were sent, one way."""
        return spread(packet.slip_ns for packet in self.packets)

    @property
    def warnings(self) -> list[str]:
        """Return the agent's warnings as texts."""
        return [each.message for each in self.doubts]

    def as_json(self) -> JsonObject:
        """Return the result as `ping --json` prints it."""
        resolved = {"neighbour_resolution_ns": self.neighbour_ns}
        handshake, tls, whole = self.handshake_ns, self.tls_ns, self.whole_ns
        return {
            "host": self.host,
            "target": self.target or self.host,
            "address": self.address,
            "sent": self.sent,
            "replied": self.replied,
            **({"closed": self.closed} if self.closed else {}),
            **({"errors": self.errors} if self.errors else {}),
            "late": self.late,
            "lost": self.lost,
            **({"mismatched": self.mismatched} if self.mismatched else {}),
            **({"under_way": self.under_way} if self.under_way else {}),
            **({"duplicates": self.duplicates} if self.duplicates else {}),
            "rtt_user_ns": _json_of(self.rtt_user_ns),
            "rtt_kernel_ns": _json_of(self.rtt_kernel_ns),
            "rtt_added_by_this_machine_ns": _json_of(self.added_ns),
            "slip_one_way_ns": _json_of(self.slip_ns),
            "jitter_user_ns": self.jitter_user_ns,
            "jitter_kernel_ns": self.jitter_kernel_ns,
            **({} if handshake is None else {"handshake_rtt_ns": handshake.as_json()}),
            **({} if tls is None else {"tls_ns": tls.as_json()}),
            **({} if whole is None else {"whole_ns": whole.as_json()}),
            **(resolved if self.neighbour_ns is not None else {}),
            "realtime": self.realtime,
            **({"cut_short": self.cut_short} if self.cut_short else {}),
            "warnings": [
                doubt.model_dump(include={"kind", "message", "remedy"}) for doubt in self.doubts
            ],
            **({} if self.clean is None else {"clean": self.clean.as_json()}),
            **({} if self.why is None else {"why": self.why.as_json()}),
            **({} if self.machine is None else {"machine": self.machine.as_json()}),
            "packets": [packet.as_json() for packet in self.packets],
        }

    def _count(self, outcome: str) -> int:
        return sum(packet.outcome == outcome for packet in self.packets)


def jitter(trips: Iterable[tuple[int, int | None]]) -> float | None:
    """Return the mean difference, without its sign, of the round trips of neighbouring packets.

    `trips` are pairs of seq and round trip in ns, in the order of sending. Only neighbours that
    both have an answer count (RFC 3393: a lost packet has no delay variation); None if there are
    none.
    """
    known = {seq: rtt for seq, rtt in trips if rtt is not None}
    found = [abs(rtt - known[seq - 1]) for seq, rtt in known.items() if seq - 1 in known]
    return statistics.fmean(found) if found else None


def spread(values: Iterable[int | None]) -> Spread | None:
    """Return the spread of the known values, None if there are none."""
    ordered = sorted(value for value in values if value is not None)
    if not ordered:
        return None
    p99 = ordered[int(0.99 * (len(ordered) - 1))] if len(ordered) >= ENOUGH_FOR_P99 else None
    return Spread(len(ordered), ordered[0], statistics.median(ordered), ordered[-1], p99)


def no_p99(spreads: Iterable[Spread | None]) -> str:
    """Return why p99 is not given of some of these values, "" if it is of all."""
    fewest = min(
        (each.n for each in spreads if each is not None and each.p99 is None), default=None
    )
    return "" if fewest is None else f"p99 needs {ENOUGH_FOR_P99} round trips; there are {fewest}"


def _json_of(spread: Spread | None) -> dict[str, float] | None:
    return None if spread is None else spread.as_json()
