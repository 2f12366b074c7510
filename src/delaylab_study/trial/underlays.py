"""The network between the machines of a lab during a trial, from the probes between them. Pure."""

from __future__ import annotations

import polars as pl

from delaylab.api.plans import KeptPlan
from delaylab.api.records import MeasuredUnderlay
from delaylab.api.running import record_of_underlay

ANSWERED, LOST = ("replied", "late"), "lost"
"""Outcomes of probes. Those that the sender's kernel refused say nothing about the network."""


def measured(
    plan: KeptPlan, pair: tuple[str, str], packets: pl.DataFrame, times: pl.DataFrame
) -> MeasuredUnderlay:
    """Return what probes from one machine to another say of the network between the two.

    `packets` have each probe's outcome, `times` the four stamps of those that came back, as in the
    table `comparisons`.
    """
    outcomes: dict[str, int] = dict(packets.group_by("outcome").len().iter_rows())
    lost = outcomes.get(LOST, 0)
    sent = lost + sum(outcomes.get(each, 0) for each in ANSWERED)
    answering = pl.col("left_ns") - pl.col("arrived_ns")
    took = times.select((pl.col("back_ns") - pl.col("sent_ns") - answering).alias("rtt"))["rtt"]
    # A clock that was set while a probe was under way makes a round trip that nobody had.
    return record_of_underlay(plan, pair, sent, lost, took.filter(took > 0).to_list())
