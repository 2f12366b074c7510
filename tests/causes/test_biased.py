"""A packet is clean, biased or unknown by what it waited for on this machine, at any delay."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from delaylab.causes.biased import (
    BIASED_NS,
    HOST,
    EvidenceByCauses,
    HostTime,
    host_time,
    host_time_of,
)
from delaylab.causes.explained import WatchedPacket, WatchedPart
from delaylab.causes.holds import Hold
from delaylab.causes.pieces import Cause, CausePiece, Stage
from delaylab.causes.records import IDLE, How
from delaylab.verbs.ping.evidence import judged_stages
from delaylab.verbs.ping.judging import JudgedPackets, measured_time
from delaylab.verbs.ping.result import PingPacket
from delaylab.verdicts.bias import MeasuredTime
from tests.causes.records import HOG, RESPONDER, SENDER, US, Cpus

BY = frozenset[int | str]({SENDER})
TIMED = Stage(start_ns=0, end_ns=1, by=BY, timer=True)
TRIP = Stage(start_ns=1, end_ns=2, by=BY)
OF_LINKS = [Cause.QUEUE, Cause.RATE, Cause.DELAY]
NOT_HOST = sorted(set(Cause) - set(HOST) - {Cause.UNKNOWN})


def took(*each: tuple[Cause, int], of: Stage = TRIP) -> HostTime:
    return host_time([[CausePiece(cause, ns) for cause, ns in each]], [of])


@pytest.mark.parametrize("cause", sorted(set(HOST) - {Cause.TIMER}))
def test_what_the_machine_took_biases_from_a_fixed_time_on(cause: Cause) -> None:
    assert took((cause, BIASED_NS - 1)).reasons == []
    assert took((cause, BIASED_NS)).reasons == [cause]


def test_a_late_timer_counts_where_the_packet_was_to_be_sent_and_nowhere_else() -> None:
    assert took((Cause.TIMER, BIASED_NS), of=TIMED).reasons == [Cause.TIMER]
    assert took((Cause.TIMER, BIASED_NS)).reasons == []


def test_causes_add_up_and_small_ones_are_no_reason_of_their_own() -> None:
    found = took((Cause.HELD, 30_000), (Cause.SOFTIRQ, 15_000), (Cause.HELD, 10_000))
    assert found.reasons == [Cause.HELD, Cause.SOFTIRQ]
    assert took((Cause.HELD, 5_000_000), (Cause.SOFTIRQ, 60_000)).reasons == [Cause.HELD]


def test_a_packet_of_which_too_much_is_unknown_is_unknown_unless_it_is_biased() -> None:
    assert took((Cause.UNKNOWN, BIASED_NS - 1)).reasons == []
    assert took((Cause.UNKNOWN, BIASED_NS)).reasons is None
    assert took((Cause.UNKNOWN, BIASED_NS), (Cause.QUOTA, BIASED_NS)).reasons == [Cause.QUOTA]


def test_what_seems_beyond_this_machine_is_unknown_if_who_answers_is_on_it() -> None:
    pieces = [[CausePiece(Cause.BEYOND, BIASED_NS)]]
    assert host_time(pieces, [TRIP]).reasons == []
    assert host_time(pieces, [TRIP], here=True).reasons is None


@given(
    st.lists(st.tuples(st.sampled_from(sorted(HOST)), st.integers(0, 100_000)), max_size=6),
    st.lists(st.tuples(st.sampled_from(NOT_HOST), st.integers(0, 10**10)), max_size=6),
)
def test_the_delay_itself_decides_nothing(
    host: list[tuple[Cause, int]], delay: list[tuple[Cause, int]]
) -> None:
    """Packets that are selected by their delay make any machine look quick."""
    assert took(*host, *delay).reasons == took(*host).reasons


def exchange(answered_us: int = 900, busy_with: int = IDLE) -> Cpus:
    """Have the sender send at 100 µs; the responder is woken, and gets CPU 1 20 µs before it sends.

    Until then CPU 1 is busy with another task, or idle.
    """
    cpus = Cpus()
    cpus.switch(0, 0, IDLE)
    cpus.switch(1, 1, busy_with)
    cpus.wake(90, 0, SENDER, How.BY_TIMER)
    cpus.switch(95, 0, SENDER)
    cpus.wake(105, 0, RESPONDER, How.BY_NETWORK)
    cpus.switch(110, 0, IDLE)
    cpus.switch(answered_us - 20, 1, RESPONDER, How.RUNNABLE)
    cpus.wake(answered_us, 1, SENDER, How.BY_NETWORK)
    cpus.switch(answered_us + 10, 0, SENDER)
    cpus.switch(answered_us + 20, 1, IDLE)
    cpus.switch(answered_us + 30, 0, IDLE)
    return cpus


def packet(rtt_us: int | None, seq: int = 0) -> PingPacket:
    """Return a packet that was due at 95 µs and sent at 100 µs."""
    return PingPacket(
        seq=seq,
        rtt_user_ns=None if rtt_us is None else rtt_us * US,
        rtt_kernel_ns=None,
        slip_ns=5 * US,
        outcome="lost" if rtt_us is None else "replied",
        sender=None,
        ttl=None,
        error=None,
        sent_ns=100 * US,
    )


def judged(cpus: Cpus, until_us: int, *packets: PingPacket) -> JudgedPackets:
    evidence = EvidenceByCauses()
    stages = [(measured_time(each), judged_stages(each, BY) or []) for each in packets]
    evidence.add(cpus.recorded(until_us), stages)
    found = JudgedPackets(evidence, len(packets))
    found.judge(packets)
    return found


def test_a_slow_idle_cpu_biases_no_packet_and_a_program_that_has_the_cpu_does() -> None:
    assert judged(exchange(), 2000, packet(815)).kept == 1
    outcome = judged(exchange(busy_with=HOG), 2000, packet(815)).found(
        repeats=0, budget=0, waited_s=0.0, ended_by="budget"
    )
    assert outcome.refused == {0: [Cause.HELD]}
    assert outcome.taken_ns == {0: {Cause.HELD: 775 * US}}
    assert outcome.biased_share == 1.0
    # The sender's idle CPU woke up for 10 µs.
    assert outcome.less_waits is not None
    assert outcome.less_waits.raw is not None
    assert outcome.less_waits.raw.median == (815 - 775 - 10) * US
    lines = list(outcome.lines)
    assert lines[0].startswith("clean: judged by causes: a packet is biased if these took 50 µs")
    assert "1 refused (run-queue wait: 1, at least 775µs in the median)" in lines[1]
    kept = json.loads(json.dumps(outcome.as_json()))
    assert kept["judged_by"] == "causes"
    assert kept["refused_packets"] == [
        {"seq": 0, "why": ["run-queue wait"], "taken_ns": {"run-queue wait": 775_000}}
    ]
    assert kept["taken_ns"] == {"run-queue wait": 775_000}
    assert set(kept["rule"]) == {cause.value for cause in HOST}


def test_a_packet_without_an_answer_is_judged_by_its_sending() -> None:
    assert judged(exchange(), 2000, packet(None)).kept == 1


def test_a_packet_that_no_window_covers_is_unknown() -> None:
    assert judged(exchange(), 850, packet(815)).kept == 0
    evidence = EvidenceByCauses()
    assert evidence.reasons(MeasuredTime(1, 2, 3)) is None
    assert evidence.span_ns is None


def waited(us: int) -> WatchedPart:
    """Return a part of a packet's way on a kernel where the sender waits so long for its CPU."""
    cpus = Cpus()
    cpus.switch(0, 0, HOG)
    cpus.wake(100, 0, SENDER, How.BY_NETWORK)
    cpus.switch(100 + us, 0, SENDER, How.RUNNABLE)
    cpus.switch(200 + us, 0, IDLE)
    stage = Stage(start_ns=100 * US, end_ns=(110 + us) * US, by=BY)
    return WatchedPart(stages=[stage], recorded=cpus.recorded(1000))


def elsewhere(ns: int, *, between: bool) -> WatchedPart:
    """Return a part on the way between two machines, or on a kernel that was not recorded."""
    stage = Stage(start_ns=0, end_ns=ns)
    return WatchedPart(stages=[stage], recorded=None, between=between)


def reasons_of(*parts: WatchedPart) -> list[Cause] | None:
    found = host_time_of(WatchedPacket(parts=parts)).reasons
    return None if found is None else list(found)


def test_what_all_kernels_on_the_way_took_is_added_up() -> None:
    assert reasons_of(waited(30)) == []
    assert reasons_of(waited(30), waited(30)) == [Cause.HELD]


def test_a_kernel_that_was_not_recorded_makes_a_packet_unknown_unless_others_bias_it() -> None:
    assert reasons_of(waited(0), elsewhere(BIASED_NS - 1, between=False)) == []
    assert reasons_of(waited(0), elsewhere(BIASED_NS, between=False)) is None
    assert reasons_of(waited(60), elsewhere(BIASED_NS, between=False)) == [Cause.HELD]


def test_a_window_that_does_not_cover_its_part_makes_it_unknown() -> None:
    part = waited(60)
    assert part.recorded is not None
    late = replace(part, recorded=replace(part.recorded, start_ns=101 * US))
    assert reasons_of(late) is None


def test_a_window_without_records_makes_a_packet_of_a_lab_unknown() -> None:
    """Records of a long trial's first packets may be overwritten."""
    part = replace(waited(60), recorded=Cpus().recorded(1000))
    assert host_time_of(WatchedPacket(parts=[part], lab="lab")).reasons is None


@given(
    st.integers(0, 100), st.integers(1, 10**10), st.integers(1, 10**9), st.sampled_from(OF_LINKS)
)
def test_the_way_between_machines_and_links_decide_nothing(
    waited_us: int, between_ns: int, held_ns: int, cause: Cause
) -> None:
    """The delay of a packet is any, its verdict is that of what the machines took."""
    stage = Stage(start_ns=0, end_ns=held_ns)
    hold = Hold(start_ns=0, end_ns=held_ns, cause=cause, where="line")
    in_link = WatchedPart(stages=[stage], recorded=Cpus().recorded(10**7), holds=[hold])
    alone = reasons_of(waited(waited_us))
    assert reasons_of(waited(waited_us), elsewhere(between_ns, between=True), in_link) == alone
    assert alone == ([Cause.HELD] if waited_us * US >= BIASED_NS else [])
