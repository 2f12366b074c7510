"""Links that were down on purpose: no fault of theirs, and the packets that this cost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from delaylab.records.links import EngineReport
from delaylab.verdicts.downtimes import not_up
from delaylab.verdicts.links import judge
from delaylab_study.analysis.links.fidelity import TrialLink, lost_in_downtimes, with_packets

S = 10**9


def engine(*directions: dict[str, Any]) -> EngineReport:
    """Return a report on the link `wan`, with these fields of its directions."""
    said = [{"link": "wan", "node": None, "port": "p", **each} for each in directions]
    return EngineReport.model_validate(
        {"host": "sut", "state": "running", "now_ns": 100 * S, "directions": said}
    )


def downtime(since: int, until: int | None, state: str = "down") -> dict[str, Any]:
    return {"state": state, "since_ns": since, "until_ns": until}


def direction(node: str, *downtimes: dict[str, Any], **fields: Any) -> dict[str, Any]:
    counts = {"in": {"frames": 100, "bytes": 9000}, **fields}
    return {"node": node, "downtimes": list(downtimes), **counts}


def test_frames_of_a_link_that_was_down_on_purpose_are_no_fault() -> None:
    """The frames to an end that is down are counted where they come from."""
    dropped = {"dropped": {"down": 7}}
    for ends in ([downtime(2 * S, 3 * S)], []):
        report = engine(direction("a", **dropped), direction("b", *ends))
        verdicts = judge([report])
        assert all(verdict.held for verdict in verdicts) == bool(ends)
        assert (verdicts[0].downtimes is not None) == bool(ends)


def test_another_link_that_was_down_excuses_nothing() -> None:
    other = {**direction("b", downtime(2 * S, 3 * S)), "link": "lan"}
    wan, lan = judge([engine(direction("a", dropped={"down": 7}), other)])
    assert not wan.held
    assert "7 frames met an interface that was down" in wan.text
    assert lan.held


def test_loss_is_judged_by_the_frames_that_chance_decided_about() -> None:
    """All frames of a silent end vanish; that is not the loss that was configured."""
    asked = {"asked": {"loss": {"model": "independent", "share": 0.5}, "state": "silent"}}
    gone = direction("a", downtime(0, None, "silent"), dropped={"down": 100}, **asked)
    (verdict,) = judge([engine(gone)])
    assert verdict.held
    assert "loss" not in verdict.shares


def test_the_downtime_of_a_link_is_that_of_any_of_its_ends_on_any_host() -> None:
    left = engine(direction("a", downtime(10 * S, 12 * S), downtime(30 * S, None)))
    right = engine(direction("b", downtime(11 * S, 14 * S, "silent")))
    found = not_up([left, right])["wan"]
    assert found.states == ("down", "silent")
    assert found.spans == ((10 * S, 14 * S), (30 * S, None))
    assert found.total_ns == (4 + 70) * S
    assert found.text == "down and silent 2 times, for 74 s"


def test_packets_that_were_under_way_when_the_link_went_down_count_as_sent_then() -> None:
    delay = {"asked": {"delay_ns": S}}
    report = engine(direction("a", downtime(10 * S, 12 * S), **delay), direction("b", **delay))
    due = [7, 8, 9, 10, 11, 12, 13]
    fates = ["replied", "lost", "lost", "lost", "late", "lost", "replied"]
    packets = pl.DataFrame({"intended_ns": [second * S for second in due], "outcome": fates})
    packets = packets.with_columns(sent_ns=pl.col("intended_ns"))
    found = with_packets(not_up([report])["wan"], packets)
    assert (found.packets, found.lost, found.late) == (4, 3, 1)
    assert found.text.endswith("of 4 packets sent then, 3 lost and 1 late")
    # One that the kernel refuses for want of a neighbour was never sent.
    refused = packets.with_columns(
        sent_ns=pl.when(pl.col("intended_ns") == 10 * S).then(None).otherwise("sent_ns"),
        outcome=pl.when(pl.col("intended_ns") == 10 * S)
        .then(pl.lit("refused"))
        .otherwise("outcome"),
    )
    found = with_packets(not_up([report])["wan"], refused)
    assert (found.packets, found.lost, found.late, found.refused) == (4, 2, 1, 1)
    verdicts = judge([report])
    trials = [TrialLink("t", replace(each, downtimes=found), None) for each in verdicts]
    assert lost_in_downtimes(trials) == 3


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(1, 20)), min_size=1, max_size=8))
def test_spans_are_apart_in_order_and_cover_each_moment_that_was_not_up(
    given_spans: list[tuple[int, int]],
) -> None:
    downtimes = [downtime(since, since + length) for since, length in given_spans]
    found = not_up([engine(direction("a", *downtimes))])["wan"]
    ends = [time for span in found.spans for time in span if time is not None]
    assert ends == sorted(set(ends))
    covered = {t for since, until in found.spans for t in range(since, until or 0)}
    assert covered == {t for since, length in given_spans for t in range(since, since + length)}
    assert found.total_ns == len(covered)
