"""A link's verdict names what was not as asked, and nothing that was."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.special import betaincinv

from delaylab.io.console import terminal
from delaylab.records.links import EngineReport
from delaylab.spec.conditions.engine import GilbertElliott
from delaylab.verbs.links import print_links
from delaylab.verdicts.links import judge
from delaylab.verdicts.shares import JUDGED, check_share, exact, expected_loss
from delaylab_study.analysis.links.fidelity import link_doubts, trial_links
from delaylab_study.analysis.statistics.wilson import wilson
from delaylab_study.dataset.records.trial import TrialRecord
from delaylab_study.dataset.records.ways import Hop, Way
from tests.analysis.engines import SECOND, direction, engine, verdict
from tests.stamped import narrow


def test_a_link_that_did_as_asked_held() -> None:
    (only,) = judge([EngineReport.model_validate(engine())])
    assert only.held
    assert only.text == "held"


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (
            {"dropped": {"ring": 9}},
            "9 frames were beyond its share of the engine's ring (a flood)",
        ),
        ({"dropped": {"oversize": 3}}, "3 frames were longer than the MTU (an offload is on)"),
        ({"dropped": {"memory": 3}}, "3 frames found no memory left"),
        (
            {"dropped": {"interface": 3}},
            "3 frames were refused by the interface that they leave by",
        ),
        ({"port_dropped": 3}, "3 frames found the queue of vif-a full"),
        ({"dropped": {"down": 3}}, "3 frames met an interface that was down"),
        (
            {"late": {"count": 30, "p50_ns": 200_000, "p99_ns": 1}},
            "median lateness of its frames 200 µs",
        ),
        (
            {"late": {"count": 300, "p50_ns": 1, "p99_ns": 2e6}},
            "p99 lateness of its frames 2000 µs",
        ),
        (
            {"asked": {"loss": {"model": "independent", "share": 0.01}}, "dropped": {"loss": 300}},
            "loss was 3 % [2.67, 3.35]; 1 % is configured",
        ),
        ({"asked": {"duplicate": 0.01}}, "duplicate was 0 %"),
        ({"asked": {"rate": {"bps": 10**7}}}, "10.252 Mbit/s passed; 10.000 are configured"),
        (
            {"asked": {"rate": {"bps": 10**7, "refills": 10}}},
            "10.252 Mbit/s passed; 10.089 are configured",
        ),
    ],
)
def test_what_was_not_as_asked_is_said(changes: dict[str, Any], says: str) -> None:
    found = verdict(**changes)
    assert says in found.text
    assert found.text.startswith("not held, because ")
    assert len(found.why) == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"dropped": {"queue": 500}, "asked": {"rate": {"bps": 11_000_000}}},
        # A budget of 12 500 bytes passes nine frames of 1538 bytes.
        {"asked": {"rate": {"bps": 10**7, "refills": 100}}},
        {"dropped": {"early": 500}},
        {"late": {"count": 5, "p50_ns": 200_000, "p99_ns": 5_000_000}},
        {"asked": {"loss": {"model": "independent", "share": 0.01}}, "dropped": {"loss": 110}},
        # Bursts of 5 on average: 1 % of 10 000 frames are 20 bursts, give or take 9.
        {
            "asked": {"loss": {"model": "gilbert-elliott", "to_bad": 0.002, "to_good": 0.198}},
            "dropped": {"loss": 145},
        },
        {"asked": {"loss": {"model": "pattern", "runs": [99, 1]}}, "dropped": {"loss": 100}},
        {"asked": {"duplicate": 0.01}, "duplicated": 95},
        # What was asked for a part of the time cannot be held against the whole.
        {"asked": {"duplicate": 0.01}, "asked_first": {}},
        {"asked": {"rate": {"bps": 10_300_000}}},
        {"asked": {"rate": {"bps": 10_000_000, "overhead_bytes": 0, "minimum_bytes": 0}}}
        | {"last_out_ns": 14 * SECOND},
    ],
)
def test_what_chance_or_a_queue_may_do_is_no_failure(changes: dict[str, Any]) -> None:
    assert verdict(**changes).held, verdict(**changes).text


def test_the_machine_s_part_in_lateness_is_told_where_it_was_seen() -> None:
    late = direction(late={"count": 300, "p50_ns": 1, "p99_ns": 2e6})
    floor = {"watched_ns": SECOND, "held_up_ns": 40_000_000, "p99_ns": 1_400_000}

    def why(**seen: Any) -> str:
        (only,) = judge(
            [EngineReport.model_validate(engine(directions=[late], floor=floor | seen))]
        )
        return only.text

    assert why().endswith("2000 µs (wake-up latency of its CPU: 1400 µs)")
    assert why(watched_ns=1_000_000).endswith("p99 lateness of its frames 2000 µs")


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"state": "down", "why": "killed"}, "the link engine of host left is down: killed"),
        ({"pauses": {"count": 2, "longest_ns": 50_000_000}}, "paused 2 times, for 50.0 ms"),
        ({"dropped_ring": 7}, "missed 7 frames"),
    ],
)
def test_what_befalls_an_engine_befalls_its_links_and_is_doubted_once(
    changes: dict[str, Any], says: str
) -> None:
    two = [direction(), direction(node="c", port="vif-c", nodes=["c"])]
    record = trial(links=[engine(directions=two, **changes)])
    found = trial_links(record)
    assert [link.verdict.held for link in found] == [False, False]
    (doubt,) = link_doubts(found)
    assert says in doubt.message
    assert doubt.kind == "link-not-held"


WAN = Way(hops=[Hop(link="wan", start="a", end="b")])


def trial(**changes: Any) -> TrialRecord:
    ends = {
        "sender": {"node": "a", "host": "left", "kind": "netns"},
        "responder": {"node": "b", "host": "right", "kind": "netns"},
    }
    head = {"id": "t", "index": 0, "factors": {}, "repeat": 1, "status": "ok"}
    return TrialRecord.model_validate({**head, **ends, **changes})


@pytest.mark.parametrize("behind", ["request sender.uplink", "request responder.vif"])
def test_the_probes_packets_are_the_second_witness(behind: str) -> None:
    before = np.arange(200, dtype=np.int64) * 1_000_000
    after = before + 5_000_000 + np.arange(200) * 100
    table = pl.DataFrame({"request sender.vif": before, behind: after})
    (link, far) = trial_links(
        trial(links=[engine(directions=[direction(), direction(node="b", nodes=["b"])])]),
        [(WAN, narrow(table))],
    )
    assert far.measured is None
    assert link.measured is not None
    assert link.measured.n == 200
    assert link.measured.error is not None
    assert link.measured.error.least == 0
    assert link.measured.error.median == pytest.approx(9.95)
    assert link.measured.error.largest == pytest.approx(19.9)


def test_a_port_that_stamps_late_does_not_make_a_packet_early() -> None:
    sent = np.arange(200, dtype=np.int64) * 1_000_000
    stamped, after = sent + 1000, sent + 5_010_000
    stamped[7] += 50_000
    table = pl.DataFrame(
        {
            "request sender.stack": sent,
            "request sender.vif": stamped,
            "request responder.vif": after,
        }
    )
    points = ["sender.stack", "sender.vif", "responder.vif"]
    way = WAN.model_copy(update={"request": points})
    (link,) = trial_links(trial(links=[engine(directions=[direction()])]), [(way, narrow(table))])
    assert link.measured is not None
    assert link.measured.error is not None
    assert link.measured.error.least == pytest.approx(-41)
    assert link.measured.error.least_from_sender == pytest.approx(10)


@pytest.mark.parametrize(
    ("off_us", "says"),
    [
        (5, None),
        (150, "median error of the delay of the probe's packets 150 µs"),
        (-150, "median error of the delay of the probe's packets 150 µs"),
    ],
)
def test_where_the_engine_does_not_say_how_late_it_was_the_probe_does(
    off_us: int, says: str | None
) -> None:
    before = np.arange(200, dtype=np.int64) * 1_000_000
    table = pl.DataFrame(
        {"request sender.vif": before, "request responder.vif": before + 5_000_000 + off_us * 1000}
    )
    kernel = direction(late={"count": 0}, duplicated=None, first_out_ns=None, last_out_ns=None)
    kernel["asked"] = {"delay_ns": 5_000_000, "duplicate": 0.5}
    for ways, expected in (([kernel], says), ([direction()], None)):
        (link,) = trial_links(trial(links=[engine(directions=ways)]), [(WAN, narrow(table))])
        assert link.verdict.text == (f"not held, because {expected}" if expected else "held")


@pytest.mark.parametrize(
    "varies",
    [
        {"jitter": {"spread_ns": 1}},
        {"rate": {"bps": 10**9}},
        {"trace": {"kind": "delay", "points": [[0, 5]]}},
    ],
)
def test_a_delay_that_may_vary_has_no_error(varies: dict[str, Any]) -> None:
    asked = {"delay_ns": 5_000_000, **varies}
    table = pl.DataFrame({"request sender.vif": [0, 1], "request sender.uplink": [7, 9]})
    record = trial(links=[engine(directions=[direction(asked=asked)])])
    (link,) = trial_links(record, [(WAN, narrow(table))])
    assert link.measured is not None
    assert link.measured.error is None
    assert link.measured.median == pytest.approx(0.0075)


@given(st.integers(1, 10_000), st.floats(0, 1))
def test_wilsons_interval_holds_the_share_seen(n: int, share: float) -> None:
    count = round(share * n)
    low, high = wilson(count / n, n)
    assert 0 <= low <= count / n + 1e-12
    assert count / n - 1e-12 <= high <= 1


def test_wilsons_interval_is_that_of_its_paper() -> None:
    """The classical example: 81 of 263, 95 %; Newcombe 1998, table I, method 3."""
    low, high = wilson(81 / 263, 263)
    assert (low, high) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    low, high = wilson(0, 20)
    assert (low, high) == pytest.approx((0.0, 0.1611), abs=5e-5)


@given(st.floats(1, 10_000), st.floats(1, 4))
def test_wilsons_interval_of_none_or_all_ends_exactly_there(n: float, z: float) -> None:
    """Floats end just below 1 for many n, which reads 99.99999999999999 %."""
    assert wilson(0, n, z)[0] == 0
    assert wilson(1, n, z)[1] == 1


@pytest.mark.parametrize(("share", "n"), [(0.01, 10_000), (0.001, 20), (1e-4, 300), (0.9995, 50)])
def test_a_share_as_asked_is_rarely_doubted(share: float, n: int) -> None:
    """At most one in 1000, whatever the share: here the exact probability of all counts together.

    Wilson's interval doubted 2 % of series of 20 frames at 0.1 %: all that lost any.
    """
    counts = np.arange(n + 1)
    likely = stats.binom.pmf(counts, n, share)
    doubted = [not check_share(share, int(count), n).agrees for count in counts[likely > 1e-12]]
    assert float(likely[likely > 1e-12][doubted].sum()) <= 1 - JUDGED + 1e-9


@given(st.integers(1, 3_000), st.floats(0, 1), st.floats(0, 1))
def test_a_share_agrees_if_it_lies_in_the_exact_interval(n: int, seen: float, share: float) -> None:
    """The sum that decides and the interval, which is shown, are one."""
    check = check_share(share, round(seen * n), n)
    low, high = check.judged
    near = min(abs(share - low), abs(share - high)) < 1e-9
    assert near or check.agrees == (low <= share <= high)


def test_the_exact_interval_is_that_of_its_paper() -> None:
    """81 of 263, 95 %; Newcombe 1998, table I, method 5."""
    assert exact(81, 263, 0.95) == pytest.approx((0.2527, 0.3676), abs=5e-5)
    assert exact(0, 20, 0.95) == pytest.approx((0.0, 0.1684), abs=5e-5)


@given(st.integers(1, 10**8), st.floats(0, 1), st.sampled_from([0.95, JUDGED]))
def test_the_exact_interval_is_that_of_a_library(n: int, seen: float, level: float) -> None:
    """The laboratory has no SciPy; its own sums agree with it to six digits."""
    count, rest = round(seen * n), (1 - level) / 2
    low = betaincinv(count, n - count + 1, rest) if count else 0.0
    high = betaincinv(count + 1, n - count, 1 - rest) if count < n else 1.0
    assert exact(count, n, level) == pytest.approx((low, high), rel=1e-6)


def test_bursts_as_asked_are_rarely_doubted() -> None:
    """Gilbert and Elliott's states, drawn here: fates that hang together are worth fewer."""
    random = np.random.default_rng(2)
    loss = GilbertElliott(to_bad=0.01, to_good=0.2, lost_in_good=0.001)
    expected = expected_loss(loss)
    assert expected.share == pytest.approx(0.01 / 0.21 + 0.2 / 0.21 * 0.001)
    wrong = 0
    for _ in range(200):
        bad, lost = False, 0
        turns, chances = random.random((2, 5_000))
        for turn, chance in zip(turns, chances, strict=True):
            bad = turn >= 0.2 if bad else turn < 0.01
            lost += bad or chance < 0.001
        wrong += not expected.check(lost, 5_000).agrees
    assert wrong <= 3


def test_a_direction_without_frames_is_unused_whatever_its_engine_did() -> None:
    """A pause of the engine concerns the frames that it carried, not links that carried none."""
    idle = direction(link="idle", node="c", port="vif-c", **{"in": {}, "out": {}, "late": {}})
    paused = {"pauses": {"count": 2, "longest_ns": 50_000_000}}
    given = engine(directions=[direction(), idle], **paused)
    used, unused = judge([EngineReport.model_validate(given)])
    assert not used.held
    assert (unused.held, unused.text, unused.why) == (True, "unused", ())
    down = engine(directions=[idle], state="down", why="it died")
    (dead,) = judge([EngineReport.model_validate(down)])
    assert dead.text == "not held, because the link engine of host left is down: it died"


def test_what_an_engine_did_is_said_once_for_all_its_links() -> None:
    other = direction(link="other", node="c", port="vif-c", nodes=["c"], dropped={"memory": 3})
    idle = direction(link="idle", node="d", port="vif-d", **{"in": {}, "out": {}, "late": {}})
    paused = {"pauses": {"count": 2, "longest_ns": 50_000_000}}
    report = EngineReport.model_validate(engine(directions=[direction(), other, idle], **paused))
    out = io.StringIO()
    print_links([report], terminal(file=out, width=100))
    text = out.getvalue()
    assert text.count("paused 2 times") == 1
    assert "not held (wan, other), because the link engine of host left paused" in text
    assert "other from c: not held, because 3 frames found no memory left" in text
    assert "idle from" not in text
    assert "`link show --reset` begins anew" in text
