"""The network between two machines as it was measured, with the links that cross it. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from delaylab.plan.kept import KeptPlan
from delaylab.records.underlays import MeasuredUnderlay
from delaylab.spec.this_machine import LOCAL_MACHINE

RANKS = {"least": 0.0, "p1": 0.01, "p50": 0.5, "p99": 0.99}
"""The round trips of a record, each with the share of all that are shorter."""


def joined(plan: KeptPlan, pair: tuple[str, str]) -> list[str]:
    """Return the links with conditions that have a node on each of two machines."""
    return [link for link in plan.conditioned if _machines(plan, link) >= set(pair)]


def record(
    plan: KeptPlan, pair: tuple[str, str], sent: int, lost: int, took_ns: Iterable[int]
) -> MeasuredUnderlay:
    """Return the record of packets from one machine to another, of which some came back."""
    ordered = sorted(took_ns)
    ranks = {
        f"{name}_rtt_ns": ordered[max(0, math.ceil(share * len(ordered)) - 1)]
        for name, share in RANKS.items()
        if ordered
    }
    hosts = list(_hosts(plan, pair))
    links = joined(plan, pair)
    one, other = pair
    return MeasuredUnderlay(
        machine=one, other=other, hosts=hosts, links=links, sent=sent, lost=lost, **ranks
    )


def _machines(plan: KeptPlan, link: str) -> set[str]:
    return {plan.machines.get(each.host, LOCAL_MACHINE) for each in plan.on_link(link)}


def _hosts(plan: KeptPlan, pair: tuple[str, str]) -> Iterator[str]:
    hosts = dict.fromkeys(each.host for each in plan.every_attachment)
    yield from (host for host in hosts if plan.machines.get(host, LOCAL_MACHINE) in pair)
