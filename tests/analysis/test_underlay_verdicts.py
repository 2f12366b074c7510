"""Verdicts on links name what the network between their machines did during a trial."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from delaylab.records.links import EngineReport
from delaylab.records.underlays import ClosedWay, MeasuredUnderlay
from delaylab.verdicts.links import Verdict, judge
from tests.analysis.engines import direction, engine, verdict

UNDERLAY = {
    "delay_ns": 1_000_000,
    "least_rtt_ns": 2_000_000,
    "p99_rtt_ns": 2_900_000,
    "sent": 100,
    "lost": 1,
}


def test_a_network_between_machines_that_is_even_is_no_reason_against_a_link() -> None:
    assert verdict(underlay=UNDERLAY, short=100).held
    assert verdict(underlay=None, short=None).held


@pytest.mark.parametrize(
    ("underlay", "short", "says"),
    [
        ({}, 101, "101 frames had a shorter delay than the 1.000 ms that the network between its"),
        ({"p99_rtt_ns": 3_100_001}, 0, "the p99 of its round trip is 1.1 ms longer"),
        ({"lost": 2}, 0, "the network between its machines lost 2 of 100 pings"),
    ],
)
def test_what_the_network_between_machines_does_is_in_the_verdict(
    underlay: dict[str, int], short: int, says: str
) -> None:
    found = verdict(underlay={**UNDERLAY, **underlay}, short=short)
    assert not found.held
    assert says in found.text
    # An engine's CPU would be no remedy.
    assert not found.own
    assert says in "; ".join(found.of_underlay)


MEANWHILE = {
    "machine": "m1",
    "other": "m2",
    "hosts": ["left", "right"],
    "links": ["wan"],
    "sent": 2000,
    "lost": 20,
    "least_rtt_ns": 1_990_000,
    "p1_rtt_ns": 2_000_000,
    "p50_rtt_ns": 2_100_000,
    "p99_rtt_ns": 2_900_000,
}
WORSE = {**UNDERLAY, "p99_rtt_ns": 9_000_000, "lost": 50}
"""The pings of `up`, when the network was slower than during the trial."""


def during(changes: Mapping[str, object], **of_direction: Any) -> Verdict:
    report = EngineReport.model_validate(engine(directions=[direction(**of_direction)]))
    (only,) = judge([report], [MeasuredUnderlay.model_validate({**MEANWHILE, **changes})])
    return only


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({}, None),
        ({"p1_rtt_ns": 2_200_001}, None),
        ({"p1_rtt_ns": 2_200_002}, "took 1.100 ms one way, and 1.000 ms are subtracted"),
        ({"p1_rtt_ns": 1_799_998}, "took 0.900 ms one way, and 1.000 ms are subtracted"),
        ({"p99_rtt_ns": 2_990_001}, "the p99 of its round trip is 1.0 ms longer than the least"),
        ({"lost": 21}, "between machines m1 and m2 during the trial lost 21 of 2000 probes"),
    ],
)
def test_the_network_during_a_trial_is_what_a_verdict_is_about(
    changes: dict[str, object], says: str | None
) -> None:
    """It replaces the pings of `up`, whatever those found."""
    found = during(changes, underlay=WORSE, short=0)
    if says is None:
        assert found.held
    else:
        (why,) = found.of_underlay
        assert says in why


def test_a_link_without_a_delay_takes_as_long_as_the_network() -> None:
    moved = {"p1_rtt_ns": 4_000_000, "p99_rtt_ns": 2_500_000}
    assert not during(moved, underlay=UNDERLAY, short=0).held
    assert during(moved, underlay=UNDERLAY, short=0, asked={}).held


def test_a_link_of_more_nodes_is_judged_by_the_networks_that_its_frames_cross() -> None:
    assert "lost 100 of 2000 probes" in during({"lost": 100}).text
    assert during({"lost": 100, "links": ["other"]}).held
    assert during({"lost": 100, "hosts": ["right", "third"]}).held
    assert during({"lost": 100}, receives=True).held


@pytest.mark.parametrize(
    "unknown",
    [
        {"lost": 2000, "least_rtt_ns": None, "p1_rtt_ns": None, "p99_rtt_ns": None},
        {"sent": 99, "lost": 20},
    ],
    ids=["a firewall drops all probes", "too few"],
)
def test_pings_count_where_probes_say_nothing(unknown: dict[str, object]) -> None:
    assert during(unknown, underlay=UNDERLAY, short=0).held
    worse = during(unknown, underlay=WORSE, short=0)
    assert "lost 50 of 100 pings" in worse.text
    assert "7.0 ms longer than the least" in worse.text


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({}, "no frame passed from machine m1 to m2 when the trial ended"),
        (
            {"small": True},
            "packets of 1500 bytes did not pass from machine m1 to m2 when the trial ended; "
            "the smallest did",
        ),
        ({"links": ["other"]}, None),
        ({"hosts": ["right"]}, None),
    ],
)
def test_a_way_between_machines_that_takes_no_frames_is_a_reason_against_its_links(
    changes: dict[str, object], says: str | None
) -> None:
    """It is one also if no frame came to the link yet."""
    way = {"machine": "m1", "other": "m2", "hosts": ["left"], "links": ["wan"], "mtu": 1500}
    closed = [ClosedWay.model_validate({**way, "small": False, **changes})]
    for frames in (0, 1000):
        sent = direction(**{"in": {"frames": frames, "bytes": 0}})
        report = EngineReport.model_validate(engine(directions=[sent]))
        (found,) = judge([report], closed=closed)
        assert found.closed == (() if says is None else (says,))
        assert found.held == (says is None)
