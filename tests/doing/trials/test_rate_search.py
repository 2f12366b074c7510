"""The search for the highest rate that is held, on a lab whose limit is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar, cast

import polars as pl
import pytest

from delaylab.agent import measuring_requests
from delaylab.agent.result import Result
from delaylab.agent.tables import Form
from delaylab.agent.wire.measuring import ProbeDone
from delaylab.units import Duration
from delaylab_study.trial.rate_search import CLOSE_ENOUGH, TRIES, search

T = TypeVar("T")
RTT_NS = 50_000
NO_REQUEST = measuring_requests.Probe(
    probe=1, protocol="icmp", to="", count=1, interval_ns=1, size=56, linger_ns=0, late_ns=0
)
Send = Callable[[int, Duration], Result[ProbeDone]]


class Tables(Result[ProbeDone]):
    """A result whose tables were never on a stream."""

    def __init__(self, **tables: pl.DataFrame) -> None:
        super().__init__(NO_REQUEST)
        self.tables = tables

    def read(self, name: str, read: Callable[[Form, Sequence[bytes]], T]) -> T:
        return cast("T", self.tables[name])


def lab(limit_ns: int, *, loses: bool = False, late_ns: int = 0) -> Send:
    """A lab that takes `limit_ns` for each packet: the rest waits, or is lost.

    `late_ns`: it answers, but in these steps for each packet, when sent faster.
    """

    def send(count: int, interval: Duration) -> Result[ProbeDone]:
        step = interval.ns if loses else max(interval.ns, limit_ns)
        sent = [step * seq for seq in range(count)]
        answered = [
            t + RTT_NS + (late_ns if interval.ns < limit_ns else 0) * i for i, t in enumerate(sent)
        ]
        kept = [seq for seq in range(count) if not loses or interval.ns >= limit_ns or seq % 10]
        answering = set(kept)
        packets = pl.DataFrame(
            {
                "intended_ns": [interval.ns * seq for seq in range(count)],
                "sent_ns": sent,
                "outcome": ["replied" if seq in answering else "lost" for seq in range(count)],
            }
        )
        stamps = pl.DataFrame(
            {
                "leg": [1] * len(kept),
                "point": ["app"] * len(kept),
                "time_ns": [answered[seq] for seq in kept],
            }
        )
        return Tables(packets=packets, stamps=stamps)

    return send


@pytest.mark.parametrize("limit_ns", [2_000, 21_000, 333_000])
@pytest.mark.parametrize("how", [{}, {"loses": True}])
def test_the_limit_is_found(limit_ns: int, how: dict[str, bool]) -> None:
    found = search(Duration(1_000), lab(limit_ns, **how))
    # A burst may be 5 % late and still be held.
    assert limit_ns / 1.06 <= found.interval_ns <= limit_ns * CLOSE_ENOUGH
    assert {t.held for t in found.tries if t.interval_ns == found.interval_ns} == {True}


def test_answers_that_fall_behind_are_not_held() -> None:
    found = search(Duration(1_000), lab(50_000, loses=False, late_ns=60_000))
    assert found.interval_ns >= 50_000 / 1.06


def test_a_rate_that_is_held_is_asked_for_once() -> None:
    found = search(Duration(50_000), lab(2_000))
    assert (found.interval_ns, len(found.tries)) == (50_000, 1)


def test_a_lab_that_never_answers_ends_the_search() -> None:
    def send(count: int, interval: Duration) -> Result[ProbeDone]:
        packets = pl.DataFrame(
            {
                "intended_ns": [0] * count,
                "sent_ns": [0] * count,
                "outcome": ["lost"] * count,
            }
        )
        empty = pl.DataFrame(schema={"leg": pl.Int64, "point": pl.String, "time_ns": pl.Int64})
        return Tables(packets=packets, stamps=empty)

    found = search(Duration(1_000), send)
    assert len(found.tries) == TRIES  # lost packets are no reason to try again
    assert not any(tried.held for tried in found.tries)


def test_one_stall_of_the_machine_does_not_end_the_search() -> None:
    held, stalled = lab(20_000), [False]

    def send(count: int, interval: Duration) -> Result[ProbeDone]:
        once = interval.ns >= 20_000 and not stalled[0]
        stalled[0] |= once
        return lab(interval.ns * 2)(count, interval) if once else held(count, interval)

    found = search(Duration(1_000), send)
    assert stalled[0]
    assert 20_000 / 1.06 <= found.interval_ns <= 20_000 * CLOSE_ENOUGH
