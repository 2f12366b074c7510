"""CPU quota of a node, as the kernel takes it."""

from __future__ import annotations

from delaylab.units import Multiple, Share

PERIOD_US = 100_000
"""The time in which a quota is used up and given anew (Documentation/scheduler/sched-bwc.rst)."""


def quota_us(quota: Multiple) -> int:
    """Return the CPU time of a quota in each period, in µs."""
    return quota.value * PERIOD_US // Share.WHOLE
