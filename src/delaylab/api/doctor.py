"""Checks of `doctor`, and the round trips at rest of each kind of node that it measured."""

from __future__ import annotations

from delaylab.verbs.checks import Check
from delaylab.verbs.kind_round_trips import RoundTrip
from delaylab.verbs.kind_round_trips import of_kind as round_trip_of_kind

__all__ = [
    "Check",
    "RoundTrip",
    "round_trip_of_kind",
]
