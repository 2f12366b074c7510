"""Times for which TCP held a packet, by what the ends of its connection sent again."""

from __future__ import annotations

from delaylab.causes.explained import WatchedPart
from delaylab.causes.holds import Hold
from delaylab.causes.pieces import Cause, Stage
from delaylab.causes.records import Retransmission
from delaylab.causes.tcp import BOTH, HERE, Connection, Leg, SentAgain, tcp_holds

ONE, TWO = "node.one", "node.two"
CONNECTION = Connection(port=40_000, service_port=80)
SENT, ANSWERED = 1_000, 9_000
WHOLE = [(Stage(start_ns=SENT, end_ns=ANSWERED), BOTH)]
"""A request and its answer that are one segment, as a ping has them."""


def request(time_ns: int, first_ns: int | None = SENT, *, needless: bool = False) -> SentAgain:
    return SentAgain(
        time_ns=time_ns, first_ns=first_ns, leg=Leg.REQUEST, where=ONE, needless=needless
    )


def reply(time_ns: int, first_ns: int, *, needless: bool = False) -> SentAgain:
    return SentAgain(
        time_ns=time_ns, first_ns=first_ns, leg=Leg.REPLY, where=TWO, needless=needless
    )


def held(*again: SentAgain) -> list[tuple[int, int, str]]:
    found = tcp_holds(WHOLE, again, since_ns=SENT)
    assert {each.cause for each in found} <= {Cause.TCP}
    return [(*each.times, each.where) for each in found]


def test_a_lost_request_is_held_from_its_first_copy_to_the_next() -> None:
    assert held(request(3_000, first_ns=1_100)) == [(1_100, 3_000, ONE)]


def test_nobody_knows_when_a_syn_was_sent_first_so_its_segment_says_it() -> None:
    assert held(request(3_000, first_ns=None)) == [(SENT, 3_000, ONE)]


def test_a_lost_answer_is_held_from_its_first_copy_on_and_not_while_the_server_worked() -> None:
    assert held(reply(6_000, first_ns=4_000)) == [(4_000, 6_000, TWO)]


def test_if_both_are_lost_each_end_waited() -> None:
    assert held(request(3_000), reply(6_000, first_ns=4_000)) == [
        (SENT, 3_000, ONE),
        (4_000, 6_000, TWO),
    ]


def test_if_the_answer_is_lost_the_request_is_sent_again_for_nothing() -> None:
    assert held(request(3_100), reply(3_200, first_ns=1_200)) == [(1_200, 3_200, TWO)]
    # The server's own second copy may be lost, too, or needless in the end.
    assert held(request(3_100), reply(3_200, first_ns=1_200, needless=True)) == []


def test_what_the_other_end_had_already_held_nothing() -> None:
    assert held(request(3_000, needless=True)) == []


def test_what_was_sent_first_before_the_packet_is_of_an_earlier_one() -> None:
    assert held(reply(3_000, first_ns=SENT - 1), request(3_000, first_ns=SENT - 1)) == []


def test_what_is_sent_again_after_the_answer_held_nothing() -> None:
    assert held(request(ANSWERED + 1), reply(ANSWERED + 1, first_ns=4_000)) == []


def test_between_stamps_a_segment_is_held_until_the_copy_that_passes_it() -> None:
    stages = [
        (Stage(start_ns=1_000, end_ns=1_100), frozenset({Leg.REQUEST})),
        (Stage(start_ns=1_100, end_ns=3_300), frozenset({Leg.REQUEST})),
        (Stage(start_ns=3_300, end_ns=5_000), frozenset({Leg.REPLY})),
    ]
    found = tcp_holds(stages, [request(3_000), request(4_000)], since_ns=SENT)
    assert [each.times for each in found] == [(1_100, 3_000)]


def test_a_connection_is_known_by_the_ports_of_both_ends() -> None:
    def sent(local: int, remote: int, place: str | None = None) -> Retransmission:
        return Retransmission(
            time_ns=5, first_ns=3, local_port=local, remote_port=remote, place=place
        )

    found = [sent(40_000, 80, ONE), sent(80, 40_000), sent(40_000, 81), sent(80, 40_001)]
    assert [(each.leg, each.where) for each in CONNECTION.sent_again(found)] == [
        (Leg.REQUEST, ONE),
        (Leg.REPLY, HERE),
    ]


def test_where_no_cpus_were_recorded_tcp_is_known_all_the_same() -> None:
    hold = Hold(start_ns=1_500, end_ns=2_500, cause=Cause.TCP, where=ONE)
    stage = Stage(start_ns=1_000, end_ns=3_000)
    part = WatchedPart(stages=[stage], recorded=None, between=True, holds=[hold])
    (pieces,) = part.pieces("lab")
    assert {(each.cause, each.ns, each.where) for each in pieces} == {
        (Cause.TCP, 1_000, ONE),
        (Cause.BEYOND, 1_000, ""),
    }
