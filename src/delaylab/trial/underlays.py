"""The network between the machines of a lab during a trial, from the probes between them. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator

import polars as pl

from delaylab.dataset.records.underlays import MeasuredUnderlay
from delaylab.plan.kept import KeptPlan
from delaylab.spec.this_machine import LOCAL_MACHINE

ANSWERED, LOST = ("replied", "late"), "lost"
"""Outcomes of probes. Those that the sender's kernel refused say nothing about the network."""


def joined(plan: KeptPlan, pair: tuple[str, str]) -> list[str]:
    """Return the links with conditions that have a node on each of two machines."""
    return [link for link in plan.conditioned if _machines(plan, link) >= set(pair)]


def _machines(plan: KeptPlan, link: str) -> set[str]:
    return {plan.machines.get(each.host, LOCAL_MACHINE) for each in plan.on_link(link)}


def measured(
    plan: KeptPlan, pair: tuple[str, str], packets: pl.DataFrame, times: pl.DataFrame
) -> MeasuredUnderlay:
    """Return what probes from one machine to another say of the network between the two.

    `packets` have each probe's outcome, `times` the four stamps of those that came back, as in the
    table `comparisons`.
    """
    outcomes: dict[str, int] = dict(packets.group_by("outcome").len().iter_rows())
    lost = outcomes.get(LOST, 0)
    return MeasuredUnderlay(
        machine=pair[0],
        other=pair[1],
        hosts=list(_hosts(plan, pair)),
        links=joined(plan, pair),
        sent=lost + sum(outcomes.get(each, 0) for each in ANSWERED),
        lost=lost,
        **_round_trips(times),
    )


def _hosts(plan: KeptPlan, pair: tuple[str, str]) -> Iterator[str]:
    hosts = dict.fromkeys(each.host for each in plan.every_attachment)
    yield from (host for host in hosts if plan.machines.get(host, LOCAL_MACHINE) in pair)


def _round_trips(times: pl.DataFrame) -> dict[str, int]:
    """Return the record's round trips; nothing if no probe came back."""
    answering = pl.col("left_ns") - pl.col("arrived_ns")
    took = times.select((pl.col("back_ns") - pl.col("sent_ns") - answering).alias("rtt"))["rtt"]
    # A clock that was set while a probe was under way makes a round trip that nobody had.
    ordered = took.filter(took > 0).sort()
    if ordered.is_empty():
        return {}
    ranks = {"least": 0.0, "p1": 0.01, "p50": 0.5, "p99": 0.99}
    return {
        f"{name}_rtt_ns": int(ordered[max(0, math.ceil(share * len(ordered)) - 1)])
        for name, share in ranks.items()
    }
