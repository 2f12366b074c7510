"""Trials that search for the highest rate of frames first, on real packets."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from delaylab.lab.links import link_changes
from delaylab.lab.running import LiveLab
from delaylab.lab.start import temporary
from delaylab.resolve.lab import Lab
from delaylab.resolve.resolve import lab_from_data
from delaylab.spec.conditions.model import ConditionsSpec
from delaylab_study.dataset.records.rates import HeldRate
from delaylab_study.dataset.records.trial import Load
from delaylab_study.loads.bursts import Sending
from delaylab_study.loads.frames import READINGS, find_rate
from delaylab_study.loads.held_rate import BEHIND_S, LONG_S, LOWEST_PER_S
from delaylab_study.study_file.combine import Combination
from delaylab_study.study_file.loads import FramesLoad, HeldFramesLoad
from delaylab_study.study_file.probe import ProbeSpec
from delaylab_study.trial.measure import measure

pytestmark = pytest.mark.root
OUT = ("out-1", "out-2")
"""The links behind the routers."""
PACKETS = 50
BOTTLENECK_BPS = 10_000_000
LOST = 0.001
LATE, LATE_S = {"delay": "100ms"}, 0.1
BOUNDED = {"rate": "50Mbit", "queue": 100}
"""A rate that is found without all of this machine's CPU time."""
ON_THE_WIRE = 84
"""Bytes that a frame of 64 takes with its preamble and gap."""


def over_routers(out: dict[str, Any]) -> Lab:
    """Source and sink with two routers between; `out`: conditions of the links behind them."""
    return lab_from_data(
        {
            "lab": "held",
            "nodes": {
                "source": {},
                "sink": {},
                **{name: {"forwards": True} for name in ("r1", "r2")},
            },
            "links": [
                {"between": ["source", "r1"], "name": "in-1"},
                {"between": ["source", "r2"], "name": "in-2"},
                {"between": ["r1", "sink"], "name": "out-1", **out},
                {"between": ["r2", "sink"], "name": "out-2", **out},
            ],
        }
    )


def frames(**load: Any) -> FramesLoad:
    """A load of frames over both routers."""
    asked = {"frames": "held", "on": "source", "to": "sink", "over": [*OUT], **load}
    return FramesLoad.model_validate(asked)


def forwarding(out: dict[str, Any], rate: HeldRate | None = None, **load: Any) -> Load:
    """The load of a trial over two routers; `out`: conditions of the links behind them.

    With `rate` it is that one which is held, and no other is searched for.
    """
    probe = {"from": "source", "to": "sink", "over": "out-1", "count": PACKETS, "interval": "10ms"}
    asked = frames(**load)
    combination = Combination({}, over_routers(out), (asked,), ProbeSpec.model_validate(probe))
    known = [(asked, rate)] if rate and isinstance(asked, HeldFramesLoad) else []
    with temporary(combination.lab) as lab:
        (found,) = measure(lab, combination, 1, rates=known).record.loads
    assert all(flow.received <= flow.sent for flow in found.flows), found.flows
    return found


@pytest.mark.parametrize("queue", [100, pytest.param(5000, marks=pytest.mark.slow)])
def test_the_rate_found_is_the_bottlenecks(queue: int) -> None:
    load = forwarding({"rate": "5Mbit", "queue": queue}, at="50%", lost=LOST, realtime=True)
    assert load.rate is not None
    assert load.rate.bound in ("loss", "backlog")
    most = BOTTLENECK_BPS / 8 / ON_THE_WIRE
    # A long burst may leave so much in queues, and lose so much. A busy machine may hold less.
    assert load.rate.frames_per_s < most / (1 - BEHIND_S / LONG_S) * (1 + LOST) + 2 / LONG_S
    assert max(each.asked_per_s or 0 for each in load.rate.tries if each.held) > most * 0.7
    # Half of it is offered then, and what is sent arrives: what the probe sends over one router is
    # not counted.
    assert load.achieved["asked_per_s"] == pytest.approx(load.rate.frames_per_s / 2)
    for flow in load.flows:
        assert flow.received >= flow.sent * 0.999


def test_more_than_is_held_is_lost_by_both_routers_alike() -> None:
    held = HeldRate(
        frames_per_s=BOTTLENECK_BPS / 8 / ON_THE_WIRE,
        tolerance=0,
        bound="loss",
        judged=OUT,
        tries=(),
    )
    load = forwarding({"rate": "5Mbit", "queue": 100}, held, at="150%", realtime=True)
    # What the receiver counts while frames are sent is the rate of each link, its queue aside.
    for flow in load.flows:
        assert flow.received_per_s == pytest.approx(BOTTLENECK_BPS / 2 / 8 / ON_THE_WIRE, rel=0.03)
    shares = [flow.received / flow.sent for flow in load.flows]
    assert max(shares) - min(shares) < 0.02
    assert shares[0] == pytest.approx(1 / 1.5, abs=0.08)


def test_a_delay_takes_nothing_from_the_rate_received() -> None:
    """Frames are counted from when the first has come, which a router's ARP request is not.

    If they were counted from when the first was sent, 200 of 700 ms would be without any. A busy
    machine may send the last ones late, so that more are received in a second than were sent.
    """
    load = forwarding({"delay": "200ms"}, frames=2000.0)
    _, without_probe = load.flows
    assert without_probe.received_per_s is not None
    assert without_probe.received_per_s > 0.85 * load.achieved["sent_per_s"] / 2


def test_frames_that_a_link_reorders_are_counted() -> None:
    """Three in ten frames overtake those of the last 200 ms; all others are overtaken.

    So many frames are sent in 200 ms that this holds at any pace of a busy machine.
    """
    reordering = {"delay": "200ms", "reorder": "30%"}
    flows = forwarding(reordering, frames=2000.0).flows
    assert len(flows) == 2
    for flow in flows:
        assert flow.reordered is not None
        error = (0.3 * 0.7 / flow.received) ** 0.5
        assert flow.reordered / flow.received == pytest.approx(0.7, abs=5 * error)


def test_loads_to_one_node_count_their_own_frames() -> None:
    """Both send over both links; other packets, such as the probe's and ARP's, count for none."""
    both = (frames(frames=1000.0), frames(frames=3000.0))
    probe = {"from": "source", "to": "sink", "over": "out-1", "count": PACKETS, "interval": "10ms"}
    combination = Combination({}, over_routers({}), both, ProbeSpec.model_validate(probe))
    with temporary(combination.lab) as lab:
        loads = measure(lab, combination, 1).record.loads
    counts = [(flow.received, flow.sent) for load in loads for flow in load.flows]
    assert len(counts) == 4
    assert all(received == sent > 0 for received, sent in counts), counts


def test_frames_that_nothing_reorders_are_all_in_order() -> None:
    assert [flow.reordered for flow in forwarding({}, frames=2000.0).flows] == [0, 0]


@contextmanager
def late_at_rest() -> Iterator[LiveLab]:
    """A lab whose delays are set after it has started, so that only single frames can tell them."""
    carried = over_routers({"delay": "0ms", **BOUNDED})
    with temporary(carried, accounting=False) as lab:
        for link in OUT:
            link_changes.change(lab, link, None, ConditionsSpec.model_validate(LATE | BOUNDED))
        yield lab


def test_frames_that_take_long_at_rest_are_not_taken_for_a_backlog() -> None:
    """Without the time at rest, the last frames of each burst would be behind by it.

    As in a search, a burst is sent again in case the machine was busy at its end.
    """
    with late_at_rest() as lab:
        sending = Sending(lab, frames(size=1450, realtime=True))
        sending.warm()
        sending.measure_at_rest()
        bursts = [sending.burst(LOWEST_PER_S * 10, LATE_S * 5) for _ in range(READINGS)]
        sending.close()
    assert sending.at_rest_s >= LATE_S
    assert min(sending.behind_s(burst, OUT) for burst in bursts) < LATE_S / 2


@pytest.mark.slow
def test_a_search_is_not_ended_by_frames_that_take_long_at_rest() -> None:
    with late_at_rest() as lab:
        load = frames(size=1450, realtime=True)
        assert isinstance(load, HeldFramesLoad)
        found = find_rate(lab, load)
    assert found.at_rest_s >= LATE_S
    assert found.frames_per_s > LOWEST_PER_S


@pytest.mark.slow
def test_without_a_bottleneck_the_bound_is_said() -> None:
    load = forwarding({}, size=1450, at="20%")
    assert load.rate is not None
    assert load.rate.bound in ("loss", "generator")
    tried = [burst for burst in load.rate.tries if burst.asked_per_s == load.rate.frames_per_s]
    assert any(burst.held for burst in tried)
    assert load.rate.judged == OUT
