"""The search for the highest rate of frames that is held, on responders whose capacity is known."""

from __future__ import annotations

import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from delaylab.errors import DelaylabError
from delaylab_study.dataset.records.rates import Burst, Flow
from delaylab_study.loads import held_rate
from delaylab_study.loads.bursts import HELD_UP_S, SentBurst, behind_s
from delaylab_study.loads.generator import GeneratorResult
from delaylab_study.loads.held_rate import (
    BEHIND_S,
    CLOSE_ENOUGH,
    IN_ALL_S,
    IN_PACE,
    LONG_S,
    SHORT_S,
    Offer,
    judge,
    search,
)
from delaylab_study.loads.streams import Arrived, ArrivingFlow, judged

TOLERANCE = 0.0005
LINKS = ["out-1", "out-2"]
MOST_S = 25.0
"""The longest time in seconds for which a search sends, on a machine that does not vary."""


def responder(
    capacity: float,
    fastest: float,
    *,
    queue: float = 0.0,
    noise: float = 0.0,
    stalls: float = 0.0,
    seed: int = 1,
) -> Offer:
    """Forwards so many frames/s and loses the rest; the generator sends at most `fastest`.

    `queue`: frames beyond the capacity that wait for their turn, rather than be lost.
    `noise`: how far capacity wanders from try to try; `stalls`: the share of the tries in which
    the machine was elsewhere, and some frames are lost at any rate.
    """
    draw = random.Random(seed)

    def offer(per_s: float | None, seconds: float) -> Burst:
        sends = fastest if per_s is None else min(per_s, fastest)
        now = capacity * (1 + noise * draw.uniform(-1, 1))
        waiting = min(queue, max(0.0, sends - now) * seconds)
        arrives = min(sends, now + waiting / seconds) * (0.998 if draw.random() < stalls else 1)
        flows = [
            Flow(link=link, sent=round(sends * seconds / 2), received=round(arrives * seconds / 2))
            for link in LINKS
        ]
        return judge(per_s, seconds, flows, LINKS, TOLERANCE, behind_s=waiting / sends)

    return offer


capacities = st.floats(500, 3e6)


@given(capacity=capacities, ratio=st.floats(1.05, 50))
def test_the_capacity_is_found_and_never_more(capacity: float, ratio: float) -> None:
    found = search(TOLERANCE, LINKS, responder(capacity, capacity * ratio))
    # The tolerance lets a rate pass that is higher by as much; a burst counts whole frames.
    most = capacity * (1 + TOLERANCE) + 2 / SHORT_S
    assert capacity / CLOSE_ENOUGH * 0.99 <= found.frames_per_s <= most
    assert found.bound == "loss"
    assert sum(tried.seconds for tried in found.tries) < MOST_S


@given(capacity=capacities, ratio=st.floats(1.2, 50), queue_s=st.floats(0, 100))
def test_queues_of_whatever_size_make_no_rate_seem_held_that_is_not(
    capacity: float, ratio: float, queue_s: float
) -> None:
    offer = responder(capacity, capacity * ratio, queue=queue_s * capacity)
    found = search(TOLERANCE, LINKS, offer)
    # What a long burst may leave to come after it.
    most = capacity / (1 - BEHIND_S / LONG_S) * (1 + TOLERANCE) + 2 / SHORT_S
    assert capacity / CLOSE_ENOUGH * 0.95 <= found.frames_per_s <= most


def test_a_rate_that_only_fills_a_queue_is_bound_by_it() -> None:
    found = search(TOLERANCE, LINKS, responder(100_000, 130_000, queue=1e9))
    assert found.bound == "backlog"
    assert all(burst.lost == 0 for burst in found.tries)


@given(capacity=st.floats(20_000, 3e6), ratio=st.floats(0.05, 0.9))
def test_a_generator_that_is_slower_is_the_bound(capacity: float, ratio: float) -> None:
    fastest = capacity * ratio
    found = search(TOLERANCE, LINKS, responder(capacity, fastest))
    assert found.bound == "generator"
    assert fastest / CLOSE_ENOUGH * 0.99 <= found.frames_per_s <= fastest / IN_PACE + 2 / SHORT_S


@given(capacity=st.floats(1e4, 1e6), noise=st.floats(0, 0.2), seed=st.integers(0, 10**6))
def test_noise_does_not_lead_it_beyond_what_was_ever_held(
    capacity: float, noise: float, seed: int
) -> None:
    found = search(TOLERANCE, LINKS, responder(capacity, capacity * 4, noise=noise, seed=seed))
    assert found.frames_per_s <= capacity * (1 + noise) * (1 + TOLERANCE) + 4
    held = [t.asked_per_s for t in found.tries if t.held and t.asked_per_s is not None]
    assert found.frames_per_s in held
    # Most of the time of its longer bursts was held: of three, two.
    of_it = [t for t in found.tries if t.asked_per_s == found.frames_per_s and t.seconds >= LONG_S]
    assert sum(t.seconds for t in of_it if t.held) >= IN_ALL_S / 2


@given(seed=st.integers(0, 10**6))
def test_stalls_of_the_machine_cost_little(seed: int) -> None:
    offer = responder(100_000, 400_000, stalls=0.05, seed=seed)
    found = search(TOLERANCE, LINKS, offer)
    assert found.frames_per_s >= 80_000


def test_a_burst_that_loses_by_chance_does_not_lower_the_rate() -> None:
    """Each third burst loses a hundredth."""
    steady, bursts = responder(100_000, 400_000), 0

    def offer(per_s: float | None, seconds: float) -> Burst:
        nonlocal bursts
        bursts += 1
        sent = steady(per_s, seconds)
        if bursts % 3 or per_s is None:
            return sent
        flows = [flow.model_copy(update={"received": flow.sent * 99 // 100}) for flow in sent.flows]
        return judge(per_s, seconds, flows, LINKS, TOLERANCE, behind_s=0)

    found = search(TOLERANCE, LINKS, offer)
    assert found.frames_per_s == pytest.approx(100_000, rel=0.03)


def test_searches_are_centred_on_a_capacity_that_wanders() -> None:
    """A search that trusts each verdict ended 2.4 % below it in the middle, by its failures."""
    found = [
        search(TOLERANCE, LINKS, responder(100_000, 400_000, noise=0.05, seed=seed)).frames_per_s
        for seed in range(100)
    ]
    assert statistics.median(found) == pytest.approx(100_000, rel=0.015)
    low, *_, high = statistics.quantiles(found, n=20)
    assert high - low < 0.075 * 100_000


def test_a_machine_that_never_gets_steady_ends_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held_rate, "LONGEST_S", 1e-9)
    with pytest.raises(DelaylabError, match="ended without a result"):
        search(TOLERANCE, LINKS, responder(100_000, 400_000))


def test_a_rate_that_only_short_bursts_hold_is_lowered_until_long_ones_do() -> None:
    short, long = responder(100_000, 400_000), responder(80_000, 400_000)

    def offer(per_s: float | None, seconds: float) -> Burst:
        return (long if seconds >= 0.99 * LONG_S else short)(per_s, seconds)

    found = search(TOLERANCE, LINKS, offer)
    assert 75_000 <= found.frames_per_s <= 80_000 * (1 + TOLERANCE)


@pytest.mark.parametrize(
    ("missing", "remaining", "lag_s", "late_s"),
    [
        (0, 0, 0.001, 0),  # read at once, and nothing is missing
        (200, 201, 0.001, 0.021),
        (200, 151, 0.06, 0.075),  # some still came after a late reading
        (601, 0, 0.06, 0.06),  # a queue that drained before a late reading
        (21, 0, 0.06, 0.002),  # hardly anything was missing shortly before the end
        (1, 1, 0.001, 0.001),  # the last frame is under way
    ],
)
@pytest.mark.parametrize("at_rest_s", [0, HELD_UP_S, 0.03])
def test_a_queue_is_seen_however_late_the_receiver_is_read(
    missing: int, remaining: int, lag_s: float, late_s: float, at_rest_s: float
) -> None:
    """Frames at 10 000/s for a second, read 10 ms before its end and `lag_s` after it."""
    flow = ArrivingFlow("out-1", "eth0", "02:00:00:00:00:01", "10.0.0.1", "10.0.1.1", False)
    second, read = 10**9, 10**9 - 10**7
    sent = GeneratorResult(10_000, 0, 1.0, 0.0, 0, second)
    before, during, after = (
        Arrived({"out-1": frames}, 0, at)
        for frames, at in ((0, 0), (9900 - missing, read), (10_000, 2 * second))
    )
    ended = Arrived({"out-1": 10_000 - remaining}, 0, second + round(lag_s * second))
    done = SentBurst(
        sent=sent,
        before=before,
        during=during,
        ended=ended,
        after=after,
        ordered=None,
        clocked=True,
    )
    late = behind_s([flow], 10_000, done, at_rest_s)
    assert late == pytest.approx(max(0, late_s - max(0, at_rest_s - HELD_UP_S)))


def test_flows_over_links_that_limit_them_are_not_judged_unless_all_are() -> None:
    def stream(link: str, *, limited: bool) -> ArrivingFlow:
        return ArrivingFlow(link, "eth0", "02:00:00:00:00:01", "10.0.0.1", "10.0.1.1", limited)

    free, shaped = stream("out-1", limited=False), stream("out-2", limited=True)
    assert judged([free, shaped]) == ["out-1"]
    assert judged([shaped]) == ["out-2"]


def test_flows_that_are_not_judged_may_lose() -> None:
    flows = [Flow(link="out-1", sent=100, received=10), Flow(link="out-2", sent=100, received=100)]
    assert judge(200, 1.0, flows, ["out-2"], TOLERANCE, behind_s=0).held
    assert not judge(200, 1.0, flows, LINKS, TOLERANCE, behind_s=0).held


def test_frames_out_of_order_count_as_lost() -> None:
    flows = [Flow(link="out-1", sent=1000, received=990, reordered=5)]
    assert judge(1000, 1.0, flows, ["out-1"], 0.015, behind_s=0).lost == pytest.approx(0.015)
    assert not judge(1000, 1.0, flows, ["out-1"], 0.014, behind_s=0).held


def test_a_rate_that_the_generator_does_not_keep_does_not_count() -> None:
    flows = [Flow(link="out-1", sent=980, received=980)]
    tried = judge(1000, 1.0, flows, ["out-1"], TOLERANCE, behind_s=0)
    assert (tried.lost, tried.paced, tried.held) == (0, False, False)


@pytest.mark.parametrize(("more", "held"), [(3, True), (500, False)])
def test_what_an_earlier_burst_left_behind_is_not_held(more: int, held: bool) -> None:
    flows = [Flow(link="out-1", sent=1000, received=1000 + more)]
    tried = judge(1000, 1.0, flows, ["out-1"], TOLERANCE, behind_s=0)
    assert (tried.lost, tried.held) == (0, held)


@pytest.mark.parametrize("lost", [1.0, 0.1])
def test_where_everything_loses_no_rate_is_found(lost: float) -> None:
    def offer(per_s: float | None, seconds: float) -> Burst:
        sent = round(seconds * (per_s or 1e5))
        flows = [Flow(link="out-1", sent=sent, received=round(sent * (1 - lost)))]
        return judge(per_s, seconds, flows, ["out-1"], TOLERANCE, behind_s=0)

    with pytest.raises(DelaylabError, match=f"no rate of frames is held: .* {lost:.2%} were lost"):
        search(TOLERANCE, ["out-1"], offer)


@pytest.mark.parametrize(
    ("behind", "sent", "why"),
    [
        (0.05, 1.0, "at 50/s some arrived 50 ms later than at rest"),
        (0, 0.5, "50/s is the lowest tried, and 25/s were sent"),
    ],
)
def test_where_no_rate_is_held_the_reason_is_told(behind: float, sent: float, why: str) -> None:
    def offer(per_s: float | None, seconds: float) -> Burst:
        frames = round(seconds * (per_s or 1e5) * sent)
        flows = [Flow(link="out-1", sent=frames, received=frames)]
        return judge(per_s, seconds, flows, ["out-1"], TOLERANCE, behind_s=behind)

    with pytest.raises(DelaylabError, match=why):
        search(TOLERANCE, ["out-1"], offer)
