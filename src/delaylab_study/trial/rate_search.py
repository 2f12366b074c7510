"""Search for the highest rate of sending that a lab holds.

A rate is held if a burst at it loses nothing and both the sending and the replies end within 105 %
of the burst's scheduled time, plus twice the time to the first reply. This is RFC 2544's throughput
(section 26.1) for a round trip, without loss.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import polars as pl

from delaylab.api.agents import ProbeDone, Result
from delaylab.api.units import Duration
from delaylab_study.dataset.records.rates import Search, Try
from delaylab_study.trial.frames import frame

BURST_NS = 250_000_000
AT_LEAST, AT_MOST = 100, 20_000
"""The fewest and the most packets in a burst."""
IN_STEP = 1.05
CLOSE_ENOUGH = 1.1
"""The search ends when the shortest interval held is less than this times the longest not held."""
TRIES = 20


def search(wanted: Duration, send: Callable[[int, Duration], Result[ProbeDone]]) -> Search:
    """Find the shortest interval from `wanted` up that is held; `send` sends a burst.

    If no try was held, an interval longer than all of them is returned; the slip of the packets
    will show whether it is held.
    """
    tries: list[Try] = []
    shorter, longer = 0.0, math.inf
    interval = float(wanted.ns)
    while len(tries) < TRIES:
        tries += _burst(interval, send)
        tried = tries[-1]
        if tried.held:
            longer = interval
            if shorter == 0 or longer / shorter < CLOSE_ENOUGH:
                break
        else:
            shorter = interval
        interval = _next(shorter, longer, tried)
    found = longer if longer < math.inf else interval
    return Search(asked_interval_ns=wanted.ns, interval_ns=round(found), tries=tuple(tries))


def _burst(interval: float, send: Callable[[int, Duration], Result[ProbeDone]]) -> list[Try]:
    """Send a burst, and a second one if the first was late but lost nothing; return the tries.

    The machine may have been busy with something else for a moment.
    """
    packets = max(AT_LEAST, min(AT_MOST, int(BURST_NS / interval)))
    tries: list[Try] = []
    while not tries or (len(tries) == 1 and not tries[0].held and tries[0].lost == 0):
        tries.append(judge(round(interval), send(packets, Duration(round(interval)))))
    return tries


def _next(shorter: float, longer: float, tried: Try) -> float:
    if longer < math.inf:
        return math.sqrt(shorter * longer)
    # If nothing is lost, the pace of the replies is a good guess; the interval at least doubles.
    return max(tried.took_ns / max(tried.packets - tried.lost, 1), shorter * 2)


def judge(interval_ns: int, result: Result[ProbeDone]) -> Try:
    """Return a try that says whether a burst was held."""
    packets = frame(result, "packets")
    is_reply = (pl.col("leg") == 1) & (pl.col("point").cast(pl.String) == "app")
    replies = frame(result, "stamps").filter(is_reply)["time_ns"].to_numpy()
    sent = packets["sent_ns"].drop_nulls().to_numpy()
    lost = int((packets["outcome"] != "replied").sum())
    sent_in, took, held = 0, BURST_NS, False
    if len(sent) and len(replies):
        start = int(packets["intended_ns"][0])
        sent_in, took = int(sent.max()) - start, int(replies.max()) - start
        in_step = IN_STEP * interval_ns * len(packets) + 2 * max(int(replies.min()) - start, 0)
        held = lost == 0 and sent_in <= in_step and took <= in_step
    return Try(
        interval_ns=interval_ns,
        packets=len(packets),
        lost=lost,
        sent_in_ns=sent_in,
        took_ns=took,
        held=held,
    )
