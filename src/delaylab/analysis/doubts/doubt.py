"""Type of a doubt about the data, and the kinds of doubts."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """Kind of a doubt."""

    FEW_SAMPLES = "few-samples"
    SEND_SLIP = "send-slip"
    DROPPED_STAMPS = "dropped-stamps"
    UNSEEN = "unseen"
    LOST = "lost"
    RESPONDER_DROPS = "responder-drops"
    CLOCK_STEP = "clock-step"
    CLOCK_UNALIGNED = "clock-unaligned"
    CLOCK_BOUND = "clock-bound"
    BACKWARDS = "backwards"
    STOLEN_TIME = "stolen-time"
    NOT_AT_REST = "not-at-rest"
    STARVED_WATCHER = "starved-watcher"
    INTERFACE_DROPS = "interface-drops"
    LINK_NOT_HELD = "link-not-held"


@dataclass(frozen=True, slots=True)
class Doubt:
    """Doubt about the data: what was seen, and the remedy."""

    kind: str
    message: str
    remedy: str
