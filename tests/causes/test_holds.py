"""Times in which it is known what held a packet: they come before what any CPU did meanwhile."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from delaylab.causes.holds import Hold, holds_within
from delaylab.causes.pieces import Cause, CausePiece, Stage
from delaylab.causes.records import IDLE, CpuWindow, How, Task
from delaylab.causes.walk import Walker
from tests.causes.records import HOG, RESPONDER, SENDER, TASKS, US, Cpus

ENGINE = 40
TASKS_WITH_ENGINE = {
    **TASKS,
    SENDER: Task(process=SENDER, name="node.one", lab="lab", place="node.one"),
    ENGINE: Task(process=ENGINE, name="link.here", lab="lab", place="link.here"),
}
THERE, BACK = "line from one", "line from two"


def _exchange() -> Cpus:
    """Have a request and an answer pass an engine on CPU 0, which a hog has twice.

    The engine gets the request at 105 µs. It waits for the CPU from 200 to 400 µs, while the
    frame is not due, sleeps until it is due at 1105 µs, and then waits for 300 µs more.
    """
    cpus = Cpus()
    cpus.switch(0, 0, SENDER)
    cpus.switch(1, 1, IDLE)
    cpus.wake(105, 0, ENGINE, How.BY_NETWORK)
    cpus.switch(110, 0, HOG)
    cpus.switch(400, 0, ENGINE, How.RUNNABLE)
    cpus.switch(410, 0, HOG)
    cpus.wake(1105, 0, ENGINE, How.BY_TIMER)
    cpus.switch(1405, 0, ENGINE, How.RUNNABLE)
    cpus.wake(1410, 0, RESPONDER, How.BY_NETWORK)
    cpus.switch(1420, 1, RESPONDER)
    cpus.switch(1430, 0, IDLE)
    cpus.wake(1440, 1, ENGINE, How.BY_NETWORK)
    cpus.switch(1445, 0, ENGINE)
    cpus.wake(1450, 0, SENDER, How.BY_NETWORK)
    cpus.switch(1455, 0, SENDER)
    cpus.switch(1460, 1, IDLE)
    return cpus


def _found(holds: list[Hold]) -> Counter[tuple[Cause, int, str]]:
    whole = _exchange().recorded(1600)
    window = CpuWindow(
        start_ns=whole.start_ns,
        end_ns=whole.end_ns,
        records=whole.records,
        tasks=TASKS_WITH_ENGINE,
    )
    stage = Stage(start_ns=100 * US, end_ns=1460 * US, by=frozenset({"node.one of lab"}))
    (pieces,) = Walker(window, "lab").pieces([stage], holds)
    return _sums(pieces)


def _sums(pieces: list[CausePiece]) -> Counter[tuple[Cause, int, str]]:
    found = Counter[tuple[Cause, int, str]]()
    for piece in pieces:
        found[piece.cause, piece.task, piece.where] += piece.ns // US
    return found


def _hold(from_us: int, to_us: int, cause: Cause, where: str = THERE) -> Hold:
    return Hold(start_ns=from_us * US, end_ns=to_us * US, cause=cause, where=where)


def test_what_an_engine_waited_for_counts_only_once_the_packet_was_due() -> None:
    found = _found([_hold(105, 1105, Cause.DELAY), _hold(1440, 1440, Cause.DELAY, BACK)])
    assert found[Cause.DELAY, IDLE, THERE] == 1000
    assert found[Cause.HELD, HOG, ""] == 300
    assert sum(found.values()) == 1360
    assert Cause.LINK not in {cause for cause, _, _ in found}


def test_without_an_engine_s_records_its_sleep_is_link_conditions() -> None:
    found = _found([])
    assert (found[Cause.LINK, IDLE, ""], found[Cause.HELD, HOG, ""]) == (695, 290 + 300)


def test_queue_rate_and_delay_follow_each_other() -> None:
    found = _found(
        [_hold(105, 505, Cause.QUEUE), _hold(505, 605, Cause.RATE), _hold(605, 1105, Cause.DELAY)]
    )
    assert [found[cause, IDLE, THERE] for cause in (Cause.QUEUE, Cause.RATE, Cause.DELAY)] == [
        400,
        100,
        500,
    ]
    assert found[Cause.HELD, HOG, ""] == 300


def test_a_late_timer_of_an_engine_is_no_condition_of_its_link() -> None:
    # The frame was due at 900 µs, but the engine's timer went off at 1105 µs.
    found = _found([_hold(105, 900, Cause.DELAY)])
    # It is named who had the engine's CPU when the timer should have gone off.
    assert found[Cause.TIMER, HOG, ""] == 205


TIMES = st.integers(0, 1600)


@given(st.lists(st.tuples(TIMES, TIMES, st.sampled_from(Cause)), max_size=5))
def test_pieces_add_up_to_the_segment_whatever_is_said_to_have_held_the_packet(
    made: list[tuple[int, int, Cause]],
) -> None:
    holds = [_hold(min(one, two), max(one, two), cause) for one, two, cause in made]
    assert sum(_found(holds).values()) == 1360


@given(st.lists(st.tuples(TIMES, TIMES), max_size=6), TIMES, TIMES)
def test_parts_of_holds_are_within_and_do_not_overlap(
    made: list[tuple[int, int]], one: int, two: int
) -> None:
    holds = [_hold(min(each), max(each), Cause.DELAY) for each in made]
    start, end = min(one, two) * US, max(one, two) * US
    last = end
    for part in holds_within(holds, start, end):
        assert start <= part.start_ns < part.end_ns <= last
        last = part.start_ns
