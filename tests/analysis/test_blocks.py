"""Blocks of a CPU's time have no gap; softirqs are apart, and short blocks are joined."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from random import Random

import pytest

from delaylab.api.causes import IDLE
from delaylab_study.analysis.causes.blocks import CpuBlock, at_most, blocks, merged, most_of
from tests.causes.records import HOG, RESPONDER, SENDER, US, Cpus


def of(found: Sequence[CpuBlock]) -> list[tuple[int, int, int | None, str]]:
    """The blocks' ends in µs, their tasks, and what the time went to."""
    return [(each.start_ns // US, each.end_ns // US, each.task, each.to.value) for each in found]


def recorded() -> Cpus:
    """A CPU that is idle, then has the sender with a softirq in it, then the hog."""
    cpus = Cpus()
    cpus.switch(100, 0, IDLE)
    cpus.switch(200, 0, SENDER)
    cpus.softirq(260, 0, 30)
    cpus.switch(300, 0, HOG)
    cpus.switch(350, 0, IDLE)
    return cpus


def test_blocks_cover_a_time_and_what_nobody_saw_is_unknown() -> None:
    (found,) = blocks(recorded().recorded(400), 50 * US, 450 * US).values()
    assert of(found) == [
        (50, 100, None, "switch"),
        (100, 200, IDLE, "switch"),
        (200, 230, SENDER, "switch"),
        (230, 260, SENDER, "softirq"),
        (260, 300, SENDER, "switch"),
        (300, 350, HOG, "switch"),
        (350, 400, IDLE, "switch"),
        (400, 450, None, "switch"),
    ]


def test_a_part_of_the_time_has_the_parts_of_its_blocks() -> None:
    (found,) = blocks(recorded().recorded(400), 240 * US, 310 * US).values()
    assert of(found) == [
        (240, 260, SENDER, "softirq"),
        (260, 300, SENDER, "switch"),
        (300, 310, HOG, "switch"),
    ]


def test_an_interrupt_in_a_softirq_is_a_part_of_it() -> None:
    cpus = recorded()
    cpus.softirq(250, 0, 10)
    assert blocks(cpus.recorded(400), 50 * US, 450 * US) == blocks(
        recorded().recorded(400), 50 * US, 450 * US
    )


def test_the_switches_that_the_kernel_hid_leave_an_unknown_block() -> None:
    cpus = Cpus()
    cpus.switch(0, 1, RESPONDER)
    cpus.hide(1, HOG)
    cpus.hide(1, IDLE)
    cpus.switch(90, 1, SENDER)
    (found,) = blocks(cpus.recorded(100), 0, 100 * US).values()
    assert of(found) == [(0, 90, None, "switch"), (90, 100, SENDER, "switch")]


def test_most_of_a_time_counts_the_softirqs_for_the_task_that_they_interrupted() -> None:
    (found,) = blocks(recorded().recorded(400), 50 * US, 450 * US).values()
    assert most_of(found, 210 * US, 310 * US) == SENDER
    assert most_of(found, 290 * US, 350 * US) == HOG
    assert most_of(found, 400 * US, 450 * US) is None


def busy(count: int, seed: int = 0) -> list[CpuBlock]:
    """Blocks of 0.1 to 20 µs of three tasks, each by chance."""
    random, found, now_ns = Random(seed), list[CpuBlock](), 0
    for _ in range(count):
        end_ns = now_ns + random.randint(100, 20_000)
        task = random.choice((IDLE, SENDER, HOG))
        found.append(CpuBlock(start_ns=now_ns, end_ns=end_ns, task=task))
        now_ns = end_ns
    return found


def test_short_blocks_are_joined_to_what_had_the_most_of_them() -> None:
    ends_us = ((0, 1, HOG), (1, 4, SENDER), (4, 5, HOG), (5, 900, IDLE))
    made = [CpuBlock(start_ns=a * US, end_ns=b * US, task=task) for a, b, task in ends_us]
    found = merged(made, 5 * US)
    assert of(found) == [(0, 5, SENDER, "switch"), (5, 900, IDLE, "switch")]
    assert merged(made, 1) == made


@pytest.mark.parametrize("least_us", [0.5, 3, 7, 50, 10_000])
def test_joined_blocks_cover_the_same_time_and_none_is_shorter(least_us: float) -> None:
    made = busy(40)
    found = merged(made, least_us * US)
    assert (found[0].start_ns, found[-1].end_ns) == (made[0].start_ns, made[-1].end_ns)
    assert all(one.end_ns == after.start_ns for one, after in pairwise(found))
    assert all((one.task, one.to) != (after.task, after.to) for one, after in pairwise(found))
    assert len(found) == 1 or min(each.ns for each in found) >= least_us * US


def test_a_drawing_never_has_more_blocks_than_asked() -> None:
    made = {"0": busy(3000, 1), "1": busy(1000, 2)}
    found = at_most(made, 0.5 * US, 100)
    assert 20 < sum(map(len, found.values())) <= 100
    for cpu, each in made.items():
        assert found[cpu][-1].end_ns == each[-1].end_ns
    assert sum(map(len, at_most(made, 0.5 * US, 1).values())) == 2, "one of each CPU is left"
