"""The highest rate of frames that arrives, one way, found by trying.

Throughput as in RFC 2544, section 26.1, with a loss tolerance that is said: the highest rate at
which no larger share of the frames is lost. Its trials take a minute, in which no queue can hide
that more comes than is carried on; a burst is so short that queues may take it whole. So a burst
is held only if arrival keeps up with sending, too.

The first try is as fast as the generator can; the second is at the rate that arrived then, as in
MLRsearch (the IETF's draft-ietf-bmwg-mlrsearch). From a rate that is held steps go up, each twice
as wide; between one that is held and one that is not, the interval is halved on a logarithmic
scale. The rate found must also hold a longer burst; else it is lowered until it does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from delaylab.errors import DelaylabError
from delaylab.records.rates import Bound, Burst, Flow, HeldRate

SHORT_S, LONG_S = 0.5, 2.0
"""How long a burst is while the rate is searched for, and one that confirms it."""
BEHIND_S = 0.02
"""For so long at most frames may still arrive after a burst. Engine and virtual CPUs may rest for
ten milliseconds, at the end of a burst as well as within it."""
IN_PACE = 0.99
"""A try counts only if the generator sends at least this share of what was asked."""
CLOSE_ENOUGH = 1.02
"""Between the highest rate that was held and the lowest that was not."""
NEARLY = 10
"""A try that loses less than so many times the tolerance is repeated once."""
FIRST_STEP = 1.03
DOWN, A_LITTLE_DOWN = 0.8, 0.95
"""Where nothing was held yet, the next try is at most at this share of the last one: of one that
lost frames, and of one that only the generator did not keep."""
LOWEST_PER_S = 50.0
STRANGERS = 10
"""Frames of others that may be counted in a burst: neighbours asking for each other."""
TRIES = 30

Offer = Callable[[float | None, float], Burst]
"""Sends at a rate in frames/s (None: as fast as can be) for seconds, and counts what arrives."""


def search(tolerance: float, judged: Sequence[str], offer: Offer) -> HeldRate:
    """Find the highest rate that is held.

    DelaylabError if none is: also a slow burst loses more than is tolerated.
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
    """The highest rate at which a short burst was held (0: none), and what a higher fails by."""
    low, high = 0.0, math.inf
    bound: Bound = "generator"
    rate: float | None = None
    step = FIRST_STEP
    while len(tries) < TRIES and not (low and high / low <= CLOSE_ENOUGH):
        tries += _burst(rate, SHORT_S, tolerance, offer)
        last = tries[-1]
        # What was sent counts: a try as fast as can be has no rate of its own.
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
    # One as fast as can be may well hold: the generator has no higher rate.
    return "generator" if tried.held or not tried.paced else "backlog"


def _burst(rate: float | None, seconds: float, tolerance: float, offer: Offer) -> list[Burst]:
    """A burst; once more if it failed by little: the machine may just have been elsewhere."""
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
    """Whether a burst of this length was held; the flows `judged` decide, by their links."""
    counted = [flow for flow in flows if flow.link in judged]
    sent = sum(flow.sent for flow in counted)
    missing = 1 - sum(flow.received for flow in counted) / sent if sent else 1.0
    lost = max(0.0, missing)
    # Now and then a frame of someone else's is counted. Many are what an earlier burst left behind.
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
