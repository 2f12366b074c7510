"""The way back through a packet: each cause is found where it was put, and nothing is left over."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from delaylab.causes.pieces import Cause, CausePiece, Stage
from delaylab.causes.records import IDLE, CpuRecord, CpuWindow, How, What, by_cpu
from delaylab.causes.walk import Walker
from tests.causes.records import HOG, KSOFTIRQD, RESPONDER, SENDER, TASKS, US, Cpus

Found = Counter[tuple[Cause, int]]


def _exchange(cpus: Cpus, *, asked_us: int = 100) -> None:
    """Have the sender send at a time; the softirq in its call wakes the responder on CPU 1."""
    cpus.switch(0, 0, IDLE)
    cpus.switch(1, 1, IDLE)
    cpus.wake(asked_us - 10, 0, SENDER, How.BY_TIMER)
    cpus.switch(asked_us - 5, 0, SENDER)
    cpus.wake(asked_us + 5, 0, RESPONDER, How.BY_NETWORK)
    cpus.switch(asked_us + 10, 0, IDLE)


def _answer(cpus: Cpus, at_us: int) -> None:
    """Have the responder, which runs on CPU 1, answer; the sender has the answer 15 µs later."""
    cpus.wake(at_us, 1, SENDER, How.BY_NETWORK)
    cpus.switch(at_us + 10, 0, SENDER)
    cpus.switch(at_us + 20, 1, IDLE)
    cpus.switch(at_us + 30, 0, IDLE)


def _found(cpus: Cpus, start_us: int, end_us: int) -> Found:
    stage = Stage(start_ns=start_us * US, end_ns=end_us * US, by=frozenset({SENDER}))
    (pieces,) = Walker(cpus.recorded(end_us + 100)).pieces([stage])
    return _sums(pieces)


def _sums(pieces: list[CausePiece]) -> Found:
    found = Found()
    for piece in pieces:
        found[piece.cause, piece.task] += piece.ns // US
    return found


def test_a_quiet_round_trip_is_computing_and_wake_ups_of_idle_cpus() -> None:
    cpus = Cpus()
    _exchange(cpus)
    cpus.switch(140, 1, RESPONDER)
    _answer(cpus, 160)
    # The sender computes for 5 µs on each side, the responder for 20 µs; it was woken at 105.
    assert _found(cpus, 100, 175) == {
        (Cause.OWN, SENDER): 5 + 5,
        (Cause.IDLE_WAKE, IDLE): 35 + 10,
        (Cause.OWN, RESPONDER): 20,
    }


def _by_kernel(cpus: Cpus, left_us: int, came_us: int, end_us: int) -> list[Found]:
    """Return the sums of two segments: between the kernel's stamps, and to the sender's program."""
    by = frozenset[int | str]({SENDER})
    stages = [
        Stage(start_ns=left_us * US, end_ns=came_us * US),
        Stage(start_ns=came_us * US, end_ns=end_us * US, by=by),
    ]
    return [_sums(pieces) for pieces in Walker(cpus.recorded(end_us + 100)).pieces(stages)]


def test_a_packet_from_outside_was_beyond_this_machine_between_the_stamps_of_the_kernel() -> None:
    cpus = Cpus()
    cpus.switch(0, 0, SENDER)
    cpus.switch(1, 1, IDLE)
    cpus.switch(110, 0, IDLE)
    cpus.wake(5100, 0, SENDER, How.BY_NETWORK)
    cpus.switch(5110, 0, SENDER)
    between, _ = _by_kernel(cpus, 105, 5098, 5115)
    assert between == {(Cause.BEYOND, IDLE): 4993}


def test_a_packet_that_comes_while_its_sender_is_awake_for_another_was_beyond_this_machine() -> (
    None
):
    """The sender waits to send another packet meanwhile, which does not delay this one."""
    cpus = Cpus()
    cpus.switch(0, 0, SENDER)
    cpus.switch(1, 1, IDLE)
    cpus.switch(110, 0, HOG)
    cpus.wake(4000, 1, SENDER, How.BY_TIMER)
    cpus.switch(5000, 0, SENDER, How.RUNNABLE)
    between, _ = _by_kernel(cpus, 105, 5010, 5020)
    assert between == {(Cause.BEYOND, IDLE): 4905}


def test_a_server_in_no_lab_has_the_packet_also_after_it_slept_for_a_timer() -> None:
    server = HOG
    cpus = Cpus()
    cpus.switch(0, 0, SENDER)
    cpus.switch(1, 1, KSOFTIRQD)
    cpus.wake(106, 0, server, How.BY_NETWORK)
    cpus.switch(110, 0, IDLE)
    cpus.switch(2106, 1, server)
    cpus.switch(2116, 1, IDLE)
    cpus.wake(7000, 1, server, How.BY_TIMER)
    cpus.switch(7010, 1, server)
    cpus.wake(7030, 1, SENDER, How.BY_NETWORK)
    cpus.switch(7040, 0, SENDER)
    between, _ = _by_kernel(cpus, 105, 7028, 7045)
    assert between[Cause.HELD, KSOFTIRQD] == 2000
    assert between[Cause.TIMER, IDLE] == 7000 - 2116
    assert between.total() == 7028 - 105


def test_a_server_has_the_packet_also_if_its_sender_is_awake_all_the_time() -> None:
    server = HOG
    cpus = Cpus()
    cpus.switch(0, 0, SENDER)
    cpus.switch(1, 1, KSOFTIRQD)
    cpus.wake(106, 0, server, How.BY_NETWORK)
    cpus.switch(176, 1, server)
    between, _ = _by_kernel(cpus, 105, 196, 200)
    assert between == {
        (Cause.OWN, SENDER): 1,
        (Cause.HELD, KSOFTIRQD): 70,
        (Cause.OWN, server): 20,
    }


def test_a_server_that_was_waiting_for_its_cpu_already_has_the_packet_since_it_was_sent() -> None:
    server = HOG
    cpus = Cpus()
    cpus.switch(0, 0, SENDER)
    cpus.switch(1, 1, KSOFTIRQD)
    cpus.wake(50, 0, server, How.BY_NETWORK)
    cpus.switch(110, 0, IDLE)
    cpus.switch(4105, 1, server)
    cpus.wake(4125, 1, SENDER, How.BY_NETWORK)
    cpus.switch(4135, 0, SENDER)
    between, _ = _by_kernel(cpus, 105, 4124, 4140)
    assert between == {(Cause.HELD, KSOFTIRQD): 4000, (Cause.OWN, server): 19}


def test_a_responder_that_waits_for_its_cpu_waits_for_who_has_it() -> None:
    cpus = Cpus()
    _exchange(cpus)
    cpus.switch(50, 1, HOG)
    cpus.switch(3105, 1, RESPONDER, How.RUNNABLE)
    _answer(cpus, 3125)
    found = _found(cpus, 100, 3140)
    assert found[Cause.HELD, HOG] == 3000
    assert found.total() == 3040


def test_a_responder_that_was_stopped_waits_for_who_stopped_it() -> None:
    cpus = Cpus()
    cpus.switch(0, 0, HOG)
    cpus.signal(5, 0, 19, RESPONDER, HOG)
    cpus.switch(6, 1, RESPONDER)
    cpus.switch(7, 1, IDLE, How.STOPPED)
    cpus.switch(95, 0, SENDER)
    cpus.switch(110, 0, HOG)
    cpus.signal(5100, 0, 18, RESPONDER, HOG)
    cpus.wake(5101, 0, RESPONDER)
    cpus.switch(5111, 1, RESPONDER)
    _answer(cpus, 5120)
    assert _found(cpus, 100, 5135)[Cause.STOPPED, HOG] == 5001


def test_a_stop_before_the_window_is_known_by_the_signal_that_ends_it() -> None:
    cpus = Cpus()
    cpus.switch(0, 0, SENDER)
    cpus.switch(1, 1, IDLE)
    cpus.switch(110, 0, HOG)
    cpus.signal(5100, 0, 18, RESPONDER, HOG)
    cpus.wake(5101, 0, RESPONDER)
    cpus.switch(5111, 1, RESPONDER)
    _answer(cpus, 5120)
    assert _found(cpus, 100, 5135)[Cause.STOPPED, IDLE] == 5001


def test_a_group_without_cpu_time_is_a_quota_whoever_has_the_cpu() -> None:
    cpus = Cpus()
    _exchange(cpus)
    cpus.switch(110, 1, RESPONDER)
    cpus.switch(120, 1, HOG, How.THROTTLED)
    cpus.switch(8120, 1, RESPONDER, How.RUNNABLE)
    _answer(cpus, 8130)
    found = _found(cpus, 100, 8145)
    assert found[Cause.QUOTA, IDLE] == 8000
    assert (Cause.HELD, HOG) not in found


def test_a_task_that_looks_for_memory_waits_for_it_running_or_not() -> None:
    cpus = Cpus()
    _exchange(cpus)
    cpus.switch(110, 1, RESPONDER)
    cpus.switch(1000, 1, IDLE, How.BLOCKED)
    cpus.wake(2000, 0, RESPONDER, How.BY_INTERRUPT)
    cpus.switch(2010, 1, RESPONDER)
    cpus.reclaim(4010, 1, RESPONDER, 3800)
    _answer(cpus, 4030)
    found = _found(cpus, 100, 4045)
    assert found[Cause.RECLAIM, IDLE] == 3800
    assert found[Cause.OWN, RESPONDER] == 100 + 20
    assert (Cause.BLOCKED, IDLE) not in found


def test_a_softirq_that_wakes_the_sender_had_the_answer() -> None:
    cpus = Cpus()
    cpus.switch(0, 0, SENDER)
    cpus.switch(1, 1, HOG)
    cpus.switch(110, 0, IDLE)
    cpus.wake(4000, 1, SENDER, How.BY_NETWORK)
    cpus.softirq(4010, 1, 3910)
    cpus.switch(4010, 0, SENDER)
    cpus.switch(4030, 0, IDLE)
    assert _found(cpus, 100, 4015)[Cause.SOFTIRQ, HOG] == 3900


def test_a_chain_is_followed_to_who_keeps_ksoftirqd_waiting() -> None:
    cpus = Cpus()
    cpus.switch(0, 0, SENDER)
    cpus.switch(1, 1, HOG)
    cpus.wake(105, 0, KSOFTIRQD)
    cpus.switch(110, 0, IDLE)
    cpus.switch(2105, 1, KSOFTIRQD, How.RUNNABLE)
    cpus.wake(2115, 1, SENDER, How.BY_NETWORK)
    cpus.switch(2120, 0, SENDER)
    cpus.switch(2130, 0, IDLE)
    cpus.switch(2140, 1, HOG)
    assert _found(cpus, 100, 2125)[Cause.HELD, HOG] == 2000


def test_a_server_of_the_users_own_is_followed_since_the_packet_woke_it() -> None:
    cpus = Cpus()
    cpus.switch(0, 0, SENDER)
    cpus.switch(1, 1, IDLE)
    cpus.wake(105, 0, HOG, How.BY_NETWORK)
    cpus.switch(110, 0, IDLE)
    cpus.switch(120, 1, HOG)
    cpus.wake(1120, 1, SENDER, How.BY_NETWORK)
    cpus.switch(1125, 0, SENDER)
    cpus.switch(1130, 1, IDLE)
    cpus.switch(1140, 0, IDLE)
    assert _found(cpus, 100, 1130)[Cause.OWN, HOG] == 1000


def test_what_came_from_outside_is_beyond_this_machine() -> None:
    cpus = Cpus()
    cpus.switch(0, 0, SENDER)
    cpus.switch(1, 1, HOG)
    cpus.switch(110, 0, IDLE)
    cpus.wake(2000, 1, SENDER, How.BY_NETWORK)
    cpus.switch(2010, 0, SENDER)
    cpus.switch(2030, 0, IDLE)
    found = _found(cpus, 105, 2015)
    assert found[Cause.BEYOND, IDLE] == 1895
    assert (Cause.HELD, HOG) not in found, "it was interrupted, and is innocent"


def test_time_after_switches_that_nobody_saw_is_unknown() -> None:
    cpus = Cpus()
    _exchange(cpus)
    cpus.switch(50, 1, HOG)
    cpus.switch(1000, 1, RESPONDER, How.RUNNABLE)
    cpus.hide(1, 99)
    cpus.switch(3000, 1, RESPONDER)
    _answer(cpus, 3100)
    found = _found(cpus, 100, 3115)
    assert found[Cause.UNKNOWN, IDLE] >= 2000
    assert found.total() == 3015


TIMES = st.integers(0, 400)
RECORD = st.builds(
    lambda time, cpu, what, how, task, other, number: CpuRecord(
        time_ns=time * US,
        cpu=cpu,
        what=what,
        how=how,
        task=task,
        other=other,
        number=number,
        length_ns=number * US,
        softirqs=number * 10,
        interrupts=number * 7,
    ),
    TIMES,
    st.integers(0, 1),
    st.sampled_from(What),
    st.sampled_from(How),
    st.sampled_from([IDLE, *TASKS]),
    st.sampled_from([IDLE, *TASKS]),
    st.integers(0, 40),
)


@given(st.lists(RECORD, max_size=40), st.lists(TIMES, min_size=2, max_size=5, unique=True))
def test_the_pieces_of_a_segment_add_up_to_it_whatever_was_recorded(
    records: list[CpuRecord], times: list[int]
) -> None:
    ends = sorted(time * US for time in times)
    stages = [
        Stage(start_ns=start, end_ns=end, by=frozenset({SENDER}) if number % 2 else None)
        for number, (start, end) in enumerate(pairwise(ends))
    ]
    recorded = CpuWindow(start_ns=0, end_ns=400 * US, records=by_cpu(records), tasks=TASKS)
    for stage, pieces in zip(stages, Walker(recorded).pieces(stages), strict=True):
        assert sum(piece.ns for piece in pieces) == stage.length_ns
        assert all(piece.ns > 0 for piece in pieces)


@pytest.mark.parametrize("how", [How.BLOCKED, How.ASLEEP])
def test_a_sleep_in_the_segment_until_a_timer_is_the_tasks_own(how: How) -> None:
    cpus = Cpus()
    _exchange(cpus)
    cpus.switch(120, 1, RESPONDER)
    cpus.switch(130, 1, IDLE, how)
    cpus.wake(1130, 1, RESPONDER, How.BY_TIMER)
    cpus.switch(1135, 1, RESPONDER)
    _answer(cpus, 1150)
    cause = Cause.TIMER if how == How.ASLEEP else Cause.BLOCKED
    assert _found(cpus, 100, 1165)[cause, IDLE] == 1000
