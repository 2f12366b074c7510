"""Search for the highest one-way rate of frames that arrives.

This is the throughput of RFC 2544, section 26.1, with a stated loss tolerance: the highest rate at
which no larger share of the frames is lost. The search is MLRsearch (RFC 9971), by its authors'
library: short bursts bracket the rate, and longer ones decide. A rate is held if most of the time
of its longer bursts was held, so one burst that lost by chance does not end the search lower.

RFC 2544's trials take a minute, in which no queue can hide an overload; a burst is so short that
queues may absorb it. So frames that arrive long after the burst count as lost, and so do frames
that the generator should have sent and did not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from delaylab.api.errors import DelaylabError
from delaylab_study.dataset.records.rates import Bound, Burst, Flow, HeldRate

if TYPE_CHECKING:
    from MLRsearch import MeasurementResult, SearchGoal

SHORT_S, LONG_S, IN_ALL_S = 0.5, 1.0, 3.0
"""The seconds of a burst that brackets the rate, of one that decides, and of those that decide on
one rate together (the goal's initial and final trial duration, and its duration sum)."""
BAD_SHARE = 0.5
"""The share of that time in which bursts may fail at a rate that is held (the goal's exceed
ratio)."""
BEHIND_S = 0.02
"""The longest time in seconds for which frames may still arrive after a held burst, beyond their
delay at rest.

The link engine and virtual CPUs may pause for ten milliseconds, at a burst's end as well as in it.
"""
IN_PACE = 0.99
"""A burst counts only if the generator sent at least this share of the rate."""
CLOSE_ENOUGH = 1.02
"""The search ends when the lowest rate not held is at most this multiple of the highest held."""
BEYOND = 1.1
"""The highest rate tried, as a multiple of what the generator sends without a limit."""
LOWEST_PER_S = 50.0
STRANGERS = 10
"""The most frames of other senders that a burst's count may include, such as neighbour requests."""
LONGEST_S = 300.0
"""The time in seconds after which a search is given up."""
FRAMES = 10**9
"""The number of frames to which a burst's shares are scaled for the library, which counts frames:
the tolerance is then never rounded."""

Offer = Callable[[float | None, float], Burst]
"""A function that sends at a rate in frames/s (None: unlimited) for seconds and counts arrivals."""


@dataclass
class Trials:
    """The bursts of a search, as the library asks for them (its measurer)."""

    offer: Offer
    tolerance: float
    tries: list[Burst] = field(default_factory=list)

    def measure(self, intended_duration: float, intended_load: float) -> MeasurementResult:
        """Send a burst, and return its loss; the names of the arguments are the library's."""
        from MLRsearch import MeasurementResult  # noqa: PLC0415  as below

        burst = self.offer(intended_load, intended_duration)
        self.tries.append(burst)
        return MeasurementResult(
            intended_duration=intended_duration,
            intended_load=intended_load,
            offered_count=FRAMES,
            loss_count=round(FRAMES * missing(burst, intended_load, self.tolerance)),
        )


def missing(burst: Burst, per_s: float, tolerance: float) -> float:
    """Return the share of the intended frames that did not arrive in time.

    It is above the tolerance if, and only if, the burst was not held.
    """
    if burst.held:
        return burst.lost
    return min(1.0, max(burst.lost, 1 - burst.arrived_per_s / per_s, tolerance + 2 / FRAMES))


def search(tolerance: float, judged: Sequence[str], offer: Offer) -> HeldRate:
    """Find the highest rate that is held.

    Raises DelaylabError if none is: even a slow burst loses more than is tolerated.
    """
    from MLRsearch import Config, MultipleLossRatioSearch  # noqa: PLC0415  slow to import

    unlimited = offer(None, SHORT_S)
    trials = Trials(offer, tolerance, [unlimited])
    config, goal = Config(), _goal(tolerance)
    config.goals = [goal]
    config.min_load = LOWEST_PER_S  # first: the highest load must be above the lowest
    config.max_load = BEYOND * max(unlimited.sent_per_s, LOWEST_PER_S)
    config.warmup_duration = None
    config.search_duration_max = LONGEST_S
    try:
        found = MultipleLossRatioSearch(config).search(trials, debug=lambda _: None)[goal]
    except RuntimeError as error:
        raise DelaylabError(
            f"the search for a rate of frames ended without a result: {error}",
            fix="look whether the machine is busy with something else",
        ) from error
    if found.relevant_lower_bound is None:
        raise _none_held(trials.tries[-1], tolerance)
    rate = float(found.relevant_lower_bound)
    return HeldRate(
        frames_per_s=rate,
        tolerance=tolerance,
        bound=_bound(trials.tries, rate, tolerance),
        judged=tuple(judged),
        tries=tuple(trials.tries),
    )


def _goal(tolerance: float) -> SearchGoal:
    from MLRsearch import SearchGoal  # noqa: PLC0415  as above

    return SearchGoal(
        loss_ratio=tolerance,
        exceed_ratio=BAD_SHARE,
        relative_width=1 - 1 / CLOSE_ENOUGH,
        initial_trial_duration=SHORT_S,
        final_trial_duration=LONG_S,
        duration_sum=IN_ALL_S,
        fail_fast=False,
    )


def _bound(tries: Sequence[Burst], rate: float, tolerance: float) -> Bound:
    """Return why the lowest higher rate that failed was not held; of its bursts the longest tell.

    An unlimited try has no rate of its own, so the sent rate counts.
    """
    failed = [
        (per_s, -burst.seconds, burst)
        for burst in tries
        for per_s in [burst.sent_per_s if burst.asked_per_s is None else burst.asked_per_s]
        if per_s > rate and not burst.held
    ]
    if not failed:
        return "generator"
    return _why(min(failed, key=lambda each: each[:2])[2], tolerance)


def _none_held(slowest: Burst, tolerance: float) -> DelaylabError:
    """Return the error of a search whose slowest burst was not held, with the reason."""
    sent = f"at {slowest.sent_per_s:.0f}/s"
    why, fix = {
        "loss": (
            f"{sent} {slowest.lost:.2%} were lost, and {tolerance:.2%} is tolerated",
            "raise `lost:`, or look why frames are lost at rest",
        ),
        "backlog": (
            f"{sent} some arrived {slowest.behind_s * 1e3:.0f} ms later than at rest, and "
            f"{BEHIND_S * 1e3:.0f} ms is allowed",
            "find what delays the frames; the machine may be busy with other work",
        ),
        "generator": (
            f"{slowest.asked_per_s or 0:.0f}/s is the lowest tried, and {slowest.sent_per_s:.0f}/s "
            "were sent",
            "give the sender a CPU of its own (`cpus`)",
        ),
    }[_why(slowest, tolerance)]
    return DelaylabError(f"no rate of frames is held: {why}", fix=fix)


def _why(tried: Burst, tolerance: float) -> Bound:
    if tried.lost > tolerance:
        return "loss"
    return "backlog" if tried.paced else "generator"


def judge(
    asked_per_s: float | None,
    seconds: float,
    flows: Sequence[Flow],
    judged: Sequence[str],
    tolerance: float,
    behind_s: float,
) -> Burst:
    """Return a burst's verdict; the flows whose links are in `judged` decide.

    Frames out of order count as lost.
    """
    counted = [flow for flow in flows if flow.link in judged]
    sent = sum(flow.sent for flow in counted)
    missing = 1 - sum(flow.received for flow in counted) / sent if sent else 1.0
    disordered = sum(flow.reordered or 0 for flow in counted) / max(sent, 1)
    lost = min(1.0, max(0.0, missing) + disordered)
    # A few frames of other senders may be counted. Many more are left over from an earlier burst.
    whole = -missing * sent <= max(STRANGERS, tolerance * sent)
    all_sent = sum(flow.sent for flow in flows)
    sent_per_s = all_sent / max(seconds, 1e-9)
    # Of a slow and short burst one frame of each flow is more than a hundredth.
    paced = asked_per_s is None or all_sent + len(flows) >= IN_PACE * asked_per_s * seconds
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
