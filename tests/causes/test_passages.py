"""Passages of packets through links: what held them, and who lost them, in words."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from delaylab.causes.drops import UNANSWERED, UNSEEN_LOSS, Drop
from delaylab.causes.passages import Fate, Passage, holds_of, loss_words
from delaylab.causes.pieces import Cause

PASSED = Passage(
    probe=1,
    seq=2,
    link="wan",
    node="hub",
    receives=False,
    fate="sent",
    came_ns=100,
    began_ns=300,
    left_ns=400,
    due_ns=900,
    ended_ns=905,
    queue_frames=3,
    queue_bytes=4_000,
    most_from="bulk",
    most_bytes=3_000,
)
DROP = Drop(
    time_ns=1,
    probe=1,
    seq=2,
    cpu=0,
    reason="NO_SOCKET",
    interface="eth0",
    lab=None,
    place=None,
)


def test_a_link_holds_a_packet_by_its_queue_its_rate_and_its_delay() -> None:
    found = [(each.cause, each.start_ns, each.end_ns, each.where) for each in PASSED.holds]
    assert found == [
        (Cause.QUEUE, 100, 300, "link wan from hub"),
        (Cause.RATE, 300, 400, "link wan from hub"),
        (Cause.DELAY, 400, 900, "link wan from hub"),
    ]


def test_a_queue_is_said_with_its_length_and_who_filled_it() -> None:
    assert PASSED.queue == "3 frames of 4 kB, 75% from bulk"
    one = replace(PASSED, queue_frames=1, queue_bytes=60, most_from=None, most_bytes=0)
    assert one.queue == "1 frame of 60 bytes"
    assert replace(PASSED, queue_frames=0, queue_bytes=0).queue == ""


def test_packets_that_find_a_queue_of_the_same_sender_have_the_same_brief_words() -> None:
    other = replace(PASSED, queue_frames=9, queue_bytes=9_000, most_bytes=5_000)
    assert PASSED.most == other.most == "most of it from bulk"
    assert replace(PASSED, most_bytes=1_000).most == ""
    full = [replace(each, fate="queue") for each in (PASSED, other)]
    brief = "dropped by link wan from hub: its queue was full (most of it from bulk)"
    assert {loss_words(None, [each], brief=True) for each in full} == {brief}


@pytest.mark.parametrize(
    ("fate", "words"),
    [
        ("loss", "lost by link wan from hub, as configured"),
        (
            "queue",
            "dropped by link wan from hub: its queue was full (3 frames of 4 kB, 75% from bulk)",
        ),
        ("down", "dropped by link wan from hub: it was not up"),
    ],
)
def test_a_lost_packet_has_the_link_that_it_came_to_last(fate: Fate, words: str) -> None:
    lost = replace(PASSED, fate=fate, ended_ns=950)
    # The links before it sent the packet on; a kernel may have dropped a copy.
    assert loss_words(DROP, [PASSED, lost]) == words


def test_a_packet_that_all_links_sent_on_was_lost_by_a_kernel_or_by_nobody() -> None:
    assert loss_words(DROP, [PASSED]) == DROP.text
    assert loss_words(None, [PASSED]) == UNANSWERED
    assert loss_words(None, []) == UNSEEN_LOSS


@given(st.lists(st.integers(0, 1_000), min_size=4, max_size=4).map(sorted))
def test_holds_are_as_long_as_the_passage(times: list[int]) -> None:
    came, began, left, due = times
    passage = replace(PASSED, came_ns=came, began_ns=began, left_ns=left, due_ns=due)
    found = holds_of([passage])
    assert sum(hold.length_ns for hold in found) == due - came
    assert all(came <= hold.start_ns < hold.end_ns <= due for hold in found)
