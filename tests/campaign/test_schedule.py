"""The schedule of a campaign: every trial has one outcome, whatever machines do."""

from __future__ import annotations

import random
from collections import Counter
from types import SimpleNamespace
from typing import cast

from hypothesis import given, settings
from hypothesis import strategies as st

from delaylab_study.campaign.schedule import MOST_FAILED, MOST_LOST, BlockSchedule
from delaylab_study.study.job import Block
from delaylab_study.study.order import Planned

MACHINES = ("a", "b", "c")


def trial(repeat: int, place: int) -> Planned:
    return cast(Planned, SimpleNamespace(id=f"{repeat}-{place}", repeat=repeat))


def blocks(repeats: int, each: int, finished: frozenset[str] = frozenset()) -> list[Block]:
    return [Block(tuple(trial(r, p) for p in range(each)), finished) for r in range(repeats)]


def test_a_block_stays_on_the_machine_that_began_it() -> None:
    schedule = BlockSchedule(blocks(3, 4))
    ran: dict[str, str] = {}
    for name in MACHINES[:2]:
        schedule.joined(name)
    while not schedule.is_done:
        for name in MACHINES[:2]:
            if (found := schedule.next_for(name)) is not None:
                ran[found.id] = name
                assert schedule.ended(name, found, "ok") == "keep"
    assert len(ran) == 12
    for repeat in range(3):
        assert len({ran[f"{repeat}-{place}"] for place in range(4)}) == 1


def test_finished_trials_do_not_run_again() -> None:
    schedule = BlockSchedule(blocks(1, 3, frozenset({"0-0", "0-2"})))
    schedule.joined("a")
    found = schedule.next_for("a")
    assert found is not None
    assert found.id == "0-1"
    schedule.ended("a", found, "ok")
    assert schedule.is_done


def test_another_machine_goes_on_with_the_block_of_a_lost_one() -> None:
    schedule = BlockSchedule(blocks(1, 3))
    schedule.joined("a")
    first = schedule.next_for("a")
    assert first is not None
    schedule.ended("a", first, "ok")
    second = schedule.next_for("a")
    schedule.joined("b")
    assert schedule.next_for("b") is None, "its block stays on a"
    assert schedule.lost("a") is None
    again, last = schedule.next_for("b"), None
    assert again is second
    assert again is not None
    schedule.ended("b", again, "ok")
    last = schedule.next_for("b")
    assert last is not None
    assert last.id == "0-2"
    # What the lost machine sends later is no second outcome.
    assert schedule.ended("a", again, "ok") == "drop"


def test_a_trial_that_takes_two_machines_with_it_is_set_aside() -> None:
    schedule = BlockSchedule(blocks(1, 1))
    for number, name in enumerate(MACHINES[:MOST_LOST], start=1):
        schedule.joined(name)
        found = schedule.next_for(name)
        assert found is not None
        assert (schedule.lost(name) is found) == (number == MOST_LOST)
    assert schedule.is_done
    assert schedule.took("0-0") == list(MACHINES[:MOST_LOST])


def test_a_trial_that_takes_one_machine_again_and_again_is_set_aside() -> None:
    schedule = BlockSchedule(blocks(1, 1))
    for number in range(1, MOST_LOST + 2):
        schedule.joined("a")
        found = schedule.next_for("a")
        assert found is not None
        assert (schedule.lost("a") is found) == (number > MOST_LOST)
    assert schedule.is_done


def test_a_dismissed_machine_ends_its_trial_and_gets_no_other() -> None:
    schedule = BlockSchedule(blocks(1, 3))
    schedule.joined("a")
    first = schedule.next_for("a")
    assert first is not None
    schedule.dismissed("a")
    schedule.joined("b")
    assert schedule.ended("a", first, "ok") == "keep"
    assert schedule.next_for("a") is None
    rest = schedule.next_for("b")
    assert rest is not None
    assert rest.id == "0-1"


def test_a_machine_on_which_three_trials_fail_alone_is_set_aside() -> None:
    schedule = BlockSchedule(blocks(4, 2))
    schedule.joined("bad")
    schedule.joined("good")
    kept: list[str] = []
    while not schedule.is_done:
        for name in schedule.usable:
            found = schedule.next_for(name)
            if found is None:
                continue
            if schedule.ended(name, found, "failed" if name == "bad" else "ok") == "keep":
                kept.append(found.id)
    assert sorted(kept) == sorted(f"{r}-{p}" for r in range(4) for p in range(2))
    assert list(schedule.aside) == ["bad"]
    assert len(schedule.aside["bad"]) == MOST_FAILED


def test_what_fails_everywhere_says_nothing_of_the_machines() -> None:
    schedule = BlockSchedule(blocks(2, 4))
    outcomes: Counter[str] = Counter()
    for name in MACHINES:
        schedule.joined(name)
    while not schedule.is_done:
        for name in schedule.usable:
            if (found := schedule.next_for(name)) is not None:
                outcomes[schedule.ended(name, found, "failed")] += 1
    assert outcomes == {"keep": 8, "again": 16}
    assert not schedule.aside


def test_the_last_machine_tries_again_what_it_failed_for_another_one() -> None:
    """The other one is gone before it could try: nothing may wait for it."""
    schedule = BlockSchedule(blocks(1, 1))
    schedule.joined("a")
    schedule.joined("b")
    found = schedule.next_for("a")
    assert found is not None
    assert schedule.ended("a", found, "failed") == "again"
    schedule.lost("b")
    assert schedule.next_for("a") is found
    assert schedule.ended("a", found, "failed") == "keep"
    assert schedule.is_done


@settings(max_examples=300)
@given(seed=st.integers(0, 2**32), repeats=st.integers(1, 5), each=st.integers(1, 6))
def test_each_trial_has_one_outcome_whatever_machines_do(
    seed: int, repeats: int, each: int
) -> None:
    draw = random.Random(seed)
    schedule = BlockSchedule(blocks(repeats, each))
    all_trials = {f"{r}-{p}" for r in range(repeats) for p in range(each)}
    outcomes: Counter[str] = Counter()
    late: list[tuple[str, Planned]] = []
    for step in range(5000):
        if schedule.is_done:
            break
        for name in list(schedule.usable):
            schedule.next_for(name)
        running = schedule.running
        assert len({found.id for found in running.values()}) == len(running), "none runs twice"
        name = draw.choice(MACHINES)
        # After a while nothing goes wrong, so that the campaign ends.
        deed = draw.choice(["join", "end", "end", "fail", "lose", "late"]) if step < 200 else "end"
        if step >= 200:
            schedule.joined(name)
        if deed == "join":
            schedule.joined(name)
        elif deed == "late" and late:
            name, found = late.pop()
            if schedule.ended(name, found, "ok") == "keep":
                outcomes[found.id] += 1
        elif name in running and deed in ("end", "fail"):
            if schedule.ended(name, running[name], "ok" if deed == "end" else "failed") == "keep":
                outcomes[running[name].id] += 1
        elif name in running and deed == "lose":
            late.append((name, running[name]))
            aside = schedule.lost(name)
            if aside is not None:
                outcomes[aside.id] += 1
    assert schedule.is_done
    assert set(outcomes) == all_trials
    assert set(outcomes.values()) == {1}
