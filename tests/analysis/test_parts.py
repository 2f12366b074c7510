"""A packet's segments, parted by the kernel that had it: nothing is lost or counted twice."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from delaylab.api.causes import Cause, CpuWindow, Hold
from delaylab_study.analysis.causes.parts import Passed, parts, stages

HERE, FAR, GUEST = "here", "far", "guest"
AHEAD_NS = {HERE: 0, FAR: 7_000, GUEST: -3_000}
"""The lead of each clock over the sender's."""
MACHINES = frozenset({HERE, FAR})
WINDOWS = {clock: CpuWindow(start_ns=-10_000, end_ns=100_000) for clock in AHEAD_NS}


def passed(*points: tuple[int, str]) -> list[Passed]:
    return [
        Passed(time_ns=at_ns, own_ns=at_ns + AHEAD_NS[clock], clock=clock, by=None)
        for at_ns, clock in points
    ]


def test_segments_on_one_machine_are_one_part_by_its_clock() -> None:
    (part,) = parts(90, passed((100, HERE), (150, HERE), (400, HERE)), WINDOWS, MACHINES)
    assert [(each.start_ns, each.end_ns) for each in part.stages] == [
        (90, 100),
        (100, 150),
        (150, 400),
    ]
    assert part.stages[0].timer


def test_between_two_machines_nobody_has_the_packet() -> None:
    way = passed((0, HERE), (100, HERE), (300, FAR), (450, FAR), (700, HERE), (800, HERE))
    found = parts(0, way, WINDOWS, MACHINES)
    assert [each.between for each in found] == [False, True, False, True, False]
    assert [(each.start_ns, each.end_ns) for each in found[2].stages] == [(7_300, 7_450)]
    (piece,) = found[1].pieces("lab")[0]
    assert (piece.cause, piece.ns) == (Cause.BEYOND, 200)


def test_between_a_machine_and_its_guest_the_machine_has_the_packet() -> None:
    way = passed((0, HERE), (100, HERE), (300, GUEST), (450, GUEST), (700, HERE))
    before, inside, after = parts(0, way, WINDOWS, MACHINES)
    assert [(each.start_ns, each.end_ns) for each in before.stages][-1] == (100, 300)
    assert [(each.start_ns, each.end_ns) for each in inside.stages] == [(-2_700, -2_550)]
    assert [(each.start_ns, each.end_ns) for each in after.stages] == [(450, 700)]


def test_what_a_kernel_without_records_had_is_unknown() -> None:
    way = passed((0, HERE), (100, HERE), (300, FAR), (450, FAR))
    *_, last = parts(0, way, {HERE: WINDOWS[HERE]}, MACHINES)
    (piece,) = last.pieces("lab")[0]
    assert (piece.cause, piece.ns) == (Cause.UNKNOWN, 150)


def test_what_held_the_packet_is_by_the_clock_of_the_kernel_that_had_it() -> None:
    way = passed((0, HERE), (100, HERE), (300, FAR), (450, FAR), (700, HERE))
    times = ((50, 100), (150, 250), (320, 420), (440, 460))
    holds = [Hold(start_ns=one, end_ns=two, cause=Cause.TCP, where="") for one, two in times]
    found = parts(0, way, WINDOWS, MACHINES, holds)
    assert [[each.times for each in part.holds] for part in found] == [
        [(50, 100)],
        [(150, 250)],
        [(7_440, 7_450), (7_320, 7_420)],
        [(450, 460)],
    ]


@given(
    st.lists(
        st.tuples(st.integers(0, 10_000), st.sampled_from([HERE, FAR, GUEST])),
        min_size=2,
        max_size=8,
    )
)
def test_parts_have_all_segments_each_as_long_as_it_is(points: list[tuple[int, str]]) -> None:
    way = passed(
        *(
            (at_ns, clock)
            for at_ns, (_, clock) in zip(sorted(at_ns for at_ns, _ in points), points, strict=True)
        )
    )
    found = parts(way[0].time_ns - 5, way, WINDOWS, MACHINES)
    lengths = [each.length_ns for part in found for each in part.stages]
    assert lengths == [each.length_ns for each in stages(way[0].time_ns - 5, way)]
