"""A lab as a value: resolved, with every name and condition worked out."""

from __future__ import annotations

from delaylab.resolve.delays import delay_ns, round_trip_ns
from delaylab.resolve.lab import Lab, Step

__all__ = [
    "Lab",
    "Step",
    "delay_ns",
    "round_trip_ns",
]
