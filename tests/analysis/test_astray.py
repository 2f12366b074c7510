"""Lost and circling packets, from stamps at routers: which, where and when is known beforehand."""

from __future__ import annotations

import polars as pl

from delaylab_study.analysis.packets.astray import Astray, LostAt, RoutingLoop, astray
from delaylab_study.dataset.records.trial import TrialRecord

CLOCK = "here"
START_NS = 1_700_000_000_000_000_000
MS = 1_000_000
Sighting = tuple[int, str, str, int]
"""A packet's number, its leg, the point that saw it, and the time in ms."""


def found(sightings: list[Sighting], lost: list[int]) -> Astray:
    head = {"id": "t", "index": 0, "factors": {}, "repeat": 1, "status": "failed"}
    trial = TrialRecord.model_validate({**head, "live_ways": True})
    stamps = pl.DataFrame(
        [
            {
                "probe": 1,
                "seq": seq,
                "leg": leg,
                "point": point,
                "time_ns": START_NS + ms * MS,
                "clock": CLOCK,
            }
            for seq, leg, point, ms in sightings
        ]
    )
    numbers = sorted({seq for seq, *_ in sightings})
    packets = pl.DataFrame(
        {
            "probe": [1] * len(numbers),
            "seq": numbers,
            "phase": ["load"] * len(numbers),
            "outcome": ["lost" if seq in lost else "replied" for seq in numbers],
            "intended_ns": [START_NS + seq * MS for seq in numbers],
        }
    )
    return astray(trial, stamps, packets, CLOCK)


def way(seq: int, start_ms: int, *points: str) -> list[Sighting]:
    return [(seq, "request", point, start_ms + step) for step, point in enumerate(points)]


STRAIGHT = ("r1@a", "r1@b", "r2@b", "r2@c")


def test_packets_that_go_straight_are_nowhere_lost() -> None:
    assert found(way(0, 0, *STRAIGHT), lost=[]) == Astray("t", [], [])


def test_a_packet_is_lost_after_the_last_point_that_saw_it() -> None:
    seen = way(0, 10, "r1@a", "r1@b") + way(1, 20, "r1@a", "r1@b") + way(2, 30, "r1@a")
    made = found(seen, lost=[0, 1, 2])
    assert made.loops == []
    assert made.lost == [
        LostAt("request", "r1@b", 2, 0.011, 0.021),
        LostAt("request", "r1@a", 1, 0.03, 0.03),
    ]


def test_a_circle_is_named_by_its_routers_and_its_rounds() -> None:
    """r1 and r2 send packet 0 back and forth until it is dropped; packet 1 gets away in time."""
    back_and_forth = ("r1@b", "r2@b", "r2@b", "r1@b")
    seen = way(0, 0, "r1@a", *back_and_forth, *back_and_forth, "r1@b", "r2@b")
    seen += way(1, 40, "r1@a", *back_and_forth, "r1@b", "r2@b", "r2@c")
    made = found(seen, lost=[0])
    # Back at r1 at 4 ms, at r2 at 6 and so on; packet 1 is at r2 again at 46 ms.
    assert made.loops == [RoutingLoop("request", ("r1", "r2"), 2, 1, 0.004, 0.046, 4)]
    assert [each.point for each in made.lost] == ["r2@b"]


def test_a_circle_of_three_and_copies_of_a_packet_differ() -> None:
    around = way(0, 0, "r1@a", "r1@x", "r2@x", "r2@y", "r3@y", "r3@z", "r1@z", "r1@x", "r2@x")
    copies = way(1, 50, "r1@a", "r1@b", "r1@b", "r2@b", "r2@b", "r2@c", "r2@c")
    made = found(around + copies, lost=[0])
    assert [loop.routers for loop in made.loops] == [("r1", "r2", "r3")]
    assert made.loops[0].packets == 1
