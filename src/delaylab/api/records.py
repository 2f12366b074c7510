"""Records of what was measured, which agents, labs and datasets share, and whose they are."""

from __future__ import annotations

from delaylab.records.base import (
    LARGEST,
    LOCAL_NAME,
    LONGEST_NAME,
    MOST_LISTED,
    MOST_POINTS,
    MOST_TRIALS,
    Chance,
    Count,
    Difference,
    Listed,
    Nanoseconds,
    Number,
    Point,
    Points,
    Record,
    Text,
    TrialId,
    Word,
)
from delaylab.records.doubts import Doubt, DoubtKind, doubt, each_once
from delaylab.records.links import Direction, EngineReport
from delaylab.records.machine import MachineRecord
from delaylab.records.provenance import Provenance
from delaylab.records.taps import TapRecord
from delaylab.records.underlays import ClosedWay, MeasuredUnderlay
from delaylab.version import VERSION

__all__ = [
    "LARGEST",
    "LOCAL_NAME",
    "LONGEST_NAME",
    "MOST_LISTED",
    "MOST_POINTS",
    "MOST_TRIALS",
    "VERSION",
    "Chance",
    "ClosedWay",
    "Count",
    "Difference",
    "Direction",
    "Doubt",
    "DoubtKind",
    "EngineReport",
    "Listed",
    "MachineRecord",
    "MeasuredUnderlay",
    "Nanoseconds",
    "Number",
    "Point",
    "Points",
    "Provenance",
    "Record",
    "TapRecord",
    "Text",
    "TrialId",
    "Word",
    "doubt",
    "each_once",
]
