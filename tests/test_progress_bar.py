"""Long stages print lines where there is no terminal; the test sets the clock."""

from __future__ import annotations

import io
from functools import partial

import pytest

from delaylab.io.console import terminal
from delaylab.verbs import progress_bar
from delaylab.verbs.progress_bar import Stages
from tests.command import without_progress
from tests.waiting import wait_until


class Clock:
    """A clock that the test sets."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def said(events: dict[int, str], until_s: int) -> dict[int, str]:
    """Report stages at these seconds; return the lines by the second in which each was due."""
    found: dict[int, str] = {}
    clock = Clock()
    stages = Stages(clock)
    for second in range(until_s):
        clock.now_s = 100.0 + second
        for share in (0.0, 0.5):
            if second in events:
                stages.report(events[second], share)
        found.update((second, line) for line in stages.due())
    return found


def test_a_stage_that_lasts_has_a_line_and_then_one_each_minute() -> None:
    assert said({1: "downloading", 140: "unpacking", 145: "writing"}, 160) == {
        11: "at work: downloading",
        71: "at work: downloading (70 s)",
        131: "at work: downloading (130 s)",
        155: "at work: writing",
    }


def test_short_stages_have_a_line_a_minute() -> None:
    events = {second: f"stage {second}" for second in range(0, 130, 5)}
    assert said(events, 129) == {60: "at work: stage 60", 120: "at work: stage 120"}


def test_what_is_done_soon_says_nothing() -> None:
    assert said({0: "starting 2 nodes", 9: "stopping 2 nodes"}, 19) == {}
    assert said({}, 200) == {}


def test_lines_come_while_the_verb_works_and_nothing_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(progress_bar, "LOOK_S", 0.001)
    out, clock = io.StringIO(), Clock()
    with progress_bar.lines(terminal(file=out), clock) as report:
        report("unpacking\x1b[2J", 0.0)
        clock.now_s += progress_bar.QUIET_S
        wait_until(partial(_has_line, out))
    assert out.getvalue() == "at work: unpacking\\x1b[2J\n"
    assert without_progress(f"one\n{out.getvalue()}two\n") == "one\ntwo\n"


def _has_line(out: io.StringIO) -> bool:
    return out.getvalue().endswith("\n")


def test_an_error_of_the_verb_ends_the_lines_and_passes() -> None:
    with pytest.raises(OSError, match="gone"), progress_bar.bar(terminal(file=io.StringIO())):
        raise OSError("gone")
