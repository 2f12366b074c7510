"""Packets of a ping that was not watched: from the agent's tables, which it sends at the end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from delaylab.agent.result import Result
from delaylab.agent.wire import measuring
from delaylab.verbs.ping.result import PingAnswer, PingPacket, error_or_redirect

REQUEST, REPLY = 0, 1
SENT, LEFT = ("app", REQUEST), ("stack", REQUEST)
ARRIVED, REPLIED = ("stack", REPLY), ("app", REPLY)
"""The stamps that make up round trips: a point and a leg."""


def packets_of(result: Result[measuring.ProbeDone]) -> tuple[PingPacket, ...]:
    """Return the packets that were sent or refused; tables have no TTL and no sender."""
    times: dict[tuple[str, int], dict[int, int]] = {
        stamp: {} for stamp in (SENT, LEFT, ARRIVED, REPLIED)
    }
    for part in result.rows("stamps"):
        columns = (part.numbers[name] for name in ("leg", "seq", "time_ns"))
        for point, leg, seq, time_ns in zip(part.texts["point"], *columns, strict=True):
            if (point, leg) in times:
                times[point, leg][seq] = time_ns
    sent, left, arrived, replied = times.values()
    packets, answers = {}, _answers(result)
    for part in result.rows("packets"):
        columns = (part.numbers[name] for name in ("seq", "intended_ns", "duplicates"))
        rows = zip(
            *columns,
            part.some_numbers["sent_ns"],
            part.texts["outcome"],
            part.some_texts["error"],
            strict=True,
        )
        for seq, intended_ns, duplicates, sent_ns, outcome, told in rows:
            began_ns = sent.get(seq)
            opening = _between(sent_ns, began_ns)
            error, redirect = error_or_redirect(told)
            packets[seq] = PingPacket(
                seq=seq,
                rtt_user_ns=_between(began_ns, replied.get(seq)),
                rtt_kernel_ns=_between(left.get(seq), arrived.get(seq)),
                slip_ns=_between(intended_ns, sent_ns),
                outcome=outcome,
                sender=None,
                ttl=None,
                error=error,
                # The connection of an HTTP request is opened first; others are sent at once.
                handshake_ns=opening if opening and opening > 0 else None,
                duplicates=duplicates,
                redirect=redirect,
                sent_ns=sent_ns if began_ns is None else began_ns,
                answer=answers.get(seq),
            )
    return tuple(packets[seq] for seq in sorted(packets) if packets[seq].outcome != "unsent")


def _answers(result: Result[measuring.ProbeDone]) -> dict[int, PingAnswer]:
    """Return what is known of a service's answers, by packet; of none if no service was asked."""
    found: dict[int, PingAnswer] = {}
    # The table comes at the end: an agent that was killed has not sent it.
    for part in result.rows("exchanges") if "exchanges" in result.parts else ():
        some = (part.some_numbers[name] for name in ("tls_ns", "whole_ns", "status"))
        rows = zip(part.numbers["seq"], *some, part.numbers["bytes"], strict=True)
        for seq, tls_ns, whole_ns, status, count in rows:
            found[seq] = PingAnswer(tls_ns=tls_ns, whole_ns=whole_ns, status=status, bytes=count)
    return found


def _between(start: int | None, end: int | None) -> int | None:
    return None if start is None or end is None else end - start


def merged(
    packets: Iterable[PingPacket], reported: Mapping[int, PingPacket]
) -> Iterator[PingPacket]:
    """Yield packets of tables, with the sender and the TTL of those that were reported live."""
    for packet in packets:
        known = reported.get(packet.seq)
        yield replace(packet, sender=known.sender, ttl=known.ttl) if known else packet
