"""The picture and the page of events that `delaylab converge` watched."""

from __future__ import annotations

from delaylab.forwarding.detours import Detour, Detours, NodesPassed
from delaylab.forwarding.fates import Interval
from delaylab.forwarding.tables import TableChange
from delaylab.forwarding.verified import TablesVerdict
from delaylab.verdicts.outcome import Outcome, Trouble, Waited, course, outcome
from delaylab_study.charts.convergence import timeline_of_outcomes
from delaylab_study.report import converged_page

MS = 1_000_000
AT = 1_700_000_000 * 10**9
WAYS = Detours(3, 12, (Detour("a", "b", NodesPassed(("a", "b"), 1), None),))
WRONG = "1 route is wrong: b: 198.18.0.9/32: no route, not 198.19.0.1 dev a"


def watched(event: str, right_ns: int | None) -> Outcome:
    loop = Interval("198.18.0.1", "loop", frozenset("ab"), AT + 10 * MS, AT + 15 * MS)
    wrong = [(AT, "a", 2), (AT, "b", 1), (AT + 100 * MS, "a", 0)]
    seen = course(AT, AT + 1000 * MS, "abc", "c", wrong, [loop], WAYS)
    changes = [TableChange(AT + 100 * MS, "a", "198.18.0.0/31", None)]
    verdict = TablesVerdict(right_ns, None if right_ns else WRONG)
    return outcome(event, seen, changes, Trouble([loop]), verdict, Waited("a", 20 * MS, 30 * MS))


def test_routers_are_wrong_until_their_tables_are_right_or_the_watch_ends() -> None:
    found = {
        (each.router, each.state, each.begin_s, each.end_s)
        for each in watched("down <link>", None).course.states
    }
    assert found == {
        ("a", "wrong", 0.0, 0.1),
        ("b", "wrong", 0.0, 1.0),
        ("a", "looping", 0.01, 0.015),
        ("b", "looping", 0.01, 0.015),
    }


def test_the_picture_has_each_event_and_each_state() -> None:
    chart = timeline_of_outcomes([watched("down one", AT + 100 * MS), watched("up one", None)])
    assert chart is not None
    for text in ("down one", "up one", "looping", "not running"):
        assert text in chart.svg
    assert "a carrier, an adjacency or a table" in chart.caption
    assert timeline_of_outcomes([]) is None


def test_of_many_events_the_first_are_drawn_and_that_is_said() -> None:
    chart = timeline_of_outcomes([watched(f"down {number}", None) for number in range(10)])
    assert chart is not None
    assert "8 of 10 events, the first ones." in chart.caption
    assert "down 7" in chart.svg
    assert "down 8" not in chart.svg


def test_the_page_has_the_figures_of_each_event_and_the_ways_that_changed() -> None:
    page = converged_page.render("ring", [watched("down <one>", AT + 100 * MS)])
    assert "down &lt;one&gt;" in page
    assert "<one>" not in page
    for text in ("100 ms", "20.0 ms at a", "3 of 12 pairs", "a → b", "no way", "2 more are not"):
        assert text in page


def test_an_event_after_which_tables_stayed_wrong_is_not_in_time() -> None:
    assert f"not in time: {WRONG}" in converged_page.cells(watched("down one", None))
