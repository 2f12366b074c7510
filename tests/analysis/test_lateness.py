"""Lateness of frames at their receiver, where more than one engine and a network delay them."""

from __future__ import annotations

from typing import Any

import pytest

from delaylab.records.links import EngineReport
from delaylab.records.underlays import MeasuredUnderlay
from delaylab.verdicts.links import Verdict, judge
from tests.analysis.engines import direction, engine
from tests.analysis.test_underlay_verdicts import MEANWHILE, UNDERLAY


def late(p50_us: float, p99_us: float, count: int = 10_000) -> dict[str, float]:
    return {"count": count, "p50_ns": p50_us * 1000, "p99_ns": p99_us * 1000}


def passing(host: str, link: str = "wan", **changes: Any) -> EngineReport:
    """The engine of another host, which passes on what comes by its uplink."""
    own: dict[str, Any] = {"node": None, "port": "uplink", "nodes": [], "asked": {}, "link": link}
    of_engine = changes.pop("of_engine", {})
    arrived = direction(**{**own, **changes})
    return EngineReport.model_validate(engine(host=host, directions=[arrived], **of_engine))


def judged(*others: EngineReport, **of_direction: Any) -> Verdict:
    near = EngineReport.model_validate(engine(directions=[direction(**of_direction)]))
    (found,) = judge([near, *others])
    return found


def test_both_engines_of_a_link_between_hosts_count() -> None:
    found = judged(passing("right", late=late(40, 200)))
    assert (found.late.p50_ns, found.late.p99_ns) == (43_000, 220_000)
    assert found.held


def test_a_disturbed_engine_of_the_receiver_is_named() -> None:
    found = judged(passing("right", late=late(300, 700)))
    (why,) = found.own
    assert why == (
        "median lateness of its frames 303 µs "
        "(its sender's engine 3 µs, the engine of host right 300 µs)"
    )


def test_a_share_of_late_frames_is_seen_at_the_receiver_too() -> None:
    (why,) = judged(passing("right", late=late(40, 990))).own
    assert why.startswith("p99 lateness of its frames 1010 µs")


def test_of_several_receiving_hosts_the_latest_counts() -> None:
    found = judged(passing("right", late=late(300, 400)), passing("top", late=late(20, 900)))
    assert (found.late.p50_ns, found.late.p99_ns) == (303_000, 920_000)
    assert "the engine of host right 300 µs" in found.text


def test_another_links_engine_and_one_that_passed_nothing_do_not_count() -> None:
    other = passing("right", link="lan", late=late(300, 700), of_engine={"dropped_ring": 7})
    unused = passing("top", late=late(300, 700, count=0))
    found = judged(other, unused)
    assert (found.late.p50_ns, found.late.p99_ns) == (3_000, 20_000)
    assert found.held


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (
            {"of_engine": {"pauses": {"count": 1, "longest_ns": 5_000_000}}},
            "the link engine of host right paused once, for 5.0 ms at most",
        ),
        ({"of_engine": {"dropped_ring": 7}}, "the link engine of host right missed 7 frames"),
        ({"dropped": {"interface": 3}}, "interface that they leave by at host right"),
    ],
)
def test_what_else_the_receivers_engine_does_is_a_reason(
    changes: dict[str, Any], says: str
) -> None:
    found = judged(passing("right", **changes))
    assert says in found.text
    assert found.at_fault == (("right",) if "of_engine" in changes else ())


def over_a_network(p50_rtt_ns: int, meanwhile_ns: int | None = None) -> Verdict:
    underlay = {**UNDERLAY, "p50_rtt_ns": p50_rtt_ns}
    near = EngineReport.model_validate(engine(directions=[direction(underlay=underlay, short=0)]))
    measured = [] if meanwhile_ns is None else [{**MEANWHILE, "p50_rtt_ns": meanwhile_ns}]
    (found,) = judge([near], [MeasuredUnderlay.model_validate(each) for each in measured])
    return found


@pytest.mark.parametrize(
    ("p50_rtt_ns", "meanwhile_ns", "network_us"),
    [
        (2_190_000, None, 95),
        (2_200_000, None, 100),
        (2_420_000, None, 210),
        # What was measured during the trial replaces the pings of `up`.
        (2_420_000, 2_100_000, 50),
        (2_000_000, 2_420_000, 210),
        (1_900_000, None, 0),
    ],
)
def test_a_network_that_is_slower_at_the_median_makes_frames_late(
    p50_rtt_ns: int, meanwhile_ns: int | None, network_us: int
) -> None:
    """One limit holds for all that delays a frame: 100 µs at the median, with the engine's 3."""
    found = over_a_network(p50_rtt_ns, meanwhile_ns)
    assert found.late.p50_ns == 3_000 + network_us * 1000
    assert found.held == (network_us <= 97)
    if not found.held:
        assert f"the network between its machines {network_us} µs" in found.text
