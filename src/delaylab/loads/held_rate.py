"""Search for the highest one-way rate of frames that arrives.

This is the throughput of RFC 2544, section 26.1, with a stated loss tolerance: the highest rate at
which no larger share of the frames is lost. The RFC's trials take a minute, in which no queue can
hide an overload; a burst is so short that queues may absorb it. So a burst is held only if arrival
also keeps up with sending.

The first try is as fast as the generator can send; the second is at the rate that arrived then, as
in MLRsearch (the IETF's draft-ietf-bmwg-mlrsearch). From a held rate steps go up, each twice as
wide; between a held rate and one that is not, the interval is halved on a logarithmic scale. The
rate found must also hold a longer burst; otherwise it is lowered until it does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from delaylab.dataset.records.rates import Bound, Burst, Flow, HeldRate
from delaylab.errors import DelaylabError

SHORT_S, LONG_S = 0.5, 2.0
"""The seconds of a burst during the search, and of one that confirms the rate."""
BEHIND_S = 0.02
"""The longest time in seconds for which frames may still arrive after a held burst.

The link engine and virtual CPUs may pause for ten milliseconds, at a burst's end as well as in it.
"""
IN_PACE = 0.99
"""The search ends when the lowest rate not held is at most this multiple of the highest held."""
CLOSE_ENOUGH = 1.02
"""The search ends when the lowest rate not held is at most this multiple of the highest held."""
NEARLY = 10
"""A try that loses less than this many times the tolerance is repeated once."""
FIRST_STEP = 1.03
DOWN, A_LITTLE_DOWN = 0.8, 0.95
"""The largest ratio of the next try's rate to the lowest that failed, while none is held.

The first is for a last try that lost frames, the second for one that lost none.
"""
LOWEST_PER_S = 50.0
STRANGERS = 10
"""The most frames of other senders that a burst's count may include, such as neighbour requests."""
TRIES = 30

Offer = Callable[[float | None, float], Burst]
"""A function that sends at a rate in frames/s (None: unlimited) for seconds and counts arrivals."""


def search(tolerance: float, judged: Sequence[str], offer: Offer) -> HeldRate:
    """Find the highest rate that is held.

    Raises DelaylabError if none is: even a slow burst loses more than is tolerated.
    """
    tries: list[Burst] = []
    low, bound = _bracket(tolerance, offer, tries)
    step = FIRST_STEP
    while low >= LOWEST_PER_S:
        tries += _burst(low, LONG_S, tolerance, offer)
        last = tries[-1]
        if last.held:
            return HeldRate(
                frames_per_s=low,
                tolerance=tolerance,
                bound=bound,
                judged=tuple(judged),
                tries=tuple(tries),
            )
        low, step = min(low / step, last.arrived_per_s), step * step
        bound = _why(last, tolerance)
    worst = tries[-1]
    raise DelaylabError(
        f"no rate of frames is held: at {worst.sent_per_s:.0f}/s {worst.lost:.2%} were lost, "
        f"and {tolerance:.2%} is tolerated",
        fix="raise `lost:`, or look why frames are lost at rest",
    )


def _bracket(tolerance: float, offer: Offer, tries: list[Burst]) -> tuple[float, Bound]:
    """Return the highest rate at which a short burst was held (0: none), and the limit above it."""
    low, high = 0.0, math.inf
    bound: Bound = "generator"
    rate: float | None = None
    step = FIRST_STEP
    while len(tries) < TRIES and not (low and high / low <= CLOSE_ENOUGH):
        tries += _burst(rate, SHORT_S, tolerance, offer)
        last = tries[-1]
        # An unlimited try has no rate of its own, so the sent rate counts.
        tried = last.sent_per_s if rate is None else rate
        if last.held and rate is not None:
            low, step = max(low, tried), step * step
        else:
            high, bound, step = min(high, tried), _why(last, tolerance), FIRST_STEP
        rate = _next(low, high, step, last)
        if rate < LOWEST_PER_S:
            break
    return low, bound


def _why(tried: Burst, tolerance: float) -> Bound:
    if tried.lost > tolerance:
        return "loss"
    # An unlimited try may well be held: the generator has no higher rate.
    return "generator" if tried.held or not tried.paced else "backlog"


def _burst(rate: float | None, seconds: float, tolerance: float, offer: Offer) -> list[Burst]:
    """Send a burst, and a second one if the first failed by little; return the tries.

    The machine may have been busy with something else for a moment.
    """
    tries = [offer(rate, seconds)]
    first = tries[0]
    if rate is not None and not first.held and first.lost < NEARLY * tolerance:
        tries.append(offer(rate, seconds))
    return tries


def _next(low: float, high: float, step: float, last: Burst) -> float:
    if not low:
        arrived = last.arrived_per_s
        down = DOWN if last.lost else A_LITTLE_DOWN
        return arrived if last.asked_per_s is None else min(arrived, down * high)
    return min(low * step, math.sqrt(low * high))


def judge(
    asked_per_s: float | None,
    seconds: float,
    flows: Sequence[Flow],
    judged: Sequence[str],
    tolerance: float,
    behind_s: float,
) -> Burst:
    """Return a burst's verdict; the flows whose links are in `judged` decide."""
    counted = [flow for flow in flows if flow.link in judged]
    sent = sum(flow.sent for flow in counted)
    missing = 1 - sum(flow.received for flow in counted) / sent if sent else 1.0
    lost = max(0.0, missing)
    # A few frames of other senders may be counted. Many more are left over from an earlier burst.
    whole = -missing * sent <= max(STRANGERS, tolerance * sent)
    sent_per_s = sum(flow.sent for flow in flows) / max(seconds, 1e-9)
    paced = asked_per_s is None or sent_per_s >= IN_PACE * asked_per_s
    return Burst(
        asked_per_s=asked_per_s,
        seconds=seconds,
        sent_per_s=sent_per_s,
        lost=lost,
        behind_s=behind_s,
        paced=paced,
        held=paced and whole and lost <= tolerance and behind_s <= BEHIND_S,
        flows=tuple(flows),
    )
