"""Times for which TCP held a packet: a segment was lost, and TCP waited before it sent it again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from delaylab.causes.holds import Hold
from delaylab.causes.pieces import Cause, Stage
from delaylab.causes.records import Retransmission

HERE = "this machine"
"""The place of a connection's end that is in no lab."""


class Leg(StrEnum):
    """The ends of a packet's connection, by what they send: requests or replies."""

    REQUEST = "request"
    REPLY = "reply"


BOTH = frozenset(Leg)


@dataclass(frozen=True, slots=True, kw_only=True)
class SentAgain:
    """A segment that an end of a packet's connection sent again at `time_ns`.

    `where` is that end, such as `node.two`; the rest is as in `Retransmission`.
    """

    time_ns: int
    first_ns: int | None
    leg: Leg
    where: str
    needless: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """A TCP connection of a packet, by its ports: that of who asks, and that of the service."""

    port: int
    service_port: int

    def sent_again(self, found: Iterable[Retransmission], where: str = HERE) -> Iterator[SentAgain]:
        """Yield what its ends sent again; `where` stands for one that is in no part of a lab."""
        legs = {
            (self.port, self.service_port): Leg.REQUEST,
            (self.service_port, self.port): Leg.REPLY,
        }
        for each in found:
            leg = legs.get((each.local_port, each.remote_port))
            if leg is not None:
                yield SentAgain(
                    time_ns=each.time_ns,
                    first_ns=each.first_ns,
                    leg=leg,
                    where=each.place or where,
                    needless=each.needless,
                )


def tcp_holds(
    stages: Iterable[tuple[Stage, frozenset[Leg]]], again: Iterable[SentAgain], since_ns: int
) -> list[Hold]:
    """Return the times for which TCP held a packet that was sent at `since_ns`.

    Each segment of the packet comes with the ends of the connection that had something under way in
    it. A segment of the packet's way goes on after the time of a retransmission if no copy had
    reached its end by then. TCP held the packet from the first copy on, or since the segment began.
    """
    lost = list(_of_packet(list(again), since_ns))
    found = []
    for stage, legs in stages:
        for each in lost:
            if each.leg in legs and stage.start_ns < each.time_ns <= stage.end_ns:
                first_ns = max(stage.start_ns, each.first_ns or stage.start_ns)
                found.append(
                    Hold(
                        start_ns=first_ns,
                        end_ns=each.time_ns,
                        cause=Cause.TCP,
                        where=each.where,
                    )
                )
    return found


def _of_packet(again: Sequence[SentAgain], since_ns: int) -> Iterator[SentAgain]:
    """Yield what was sent again of a packet and its answer, without what was sent needlessly.

    What was first sent before the packet is of an earlier one on the same connection. If the other
    end had begun to answer, it had what it was asked: not the request was lost, but the answer,
    which acknowledges it.
    """
    own = [each for each in again if each.first_ns is None or each.first_ns >= since_ns]
    answers = [each.first_ns for each in own if each.leg == Leg.REPLY and each.first_ns is not None]
    for each in own:
        first_ns = each.first_ns or since_ns
        had = any(first_ns <= answer <= each.time_ns for answer in answers)
        if not (each.needless or (each.leg == Leg.REQUEST and had)):
            yield each
