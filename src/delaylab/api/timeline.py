"""Models of a timeline: moments, changes of links, events."""

from __future__ import annotations

from delaylab.spec.timeline.model import (
    ChangeSpec,
    CostEventSpec,
    EventSpec,
    HappeningSpec,
    LinkEventSpec,
    MomentSpec,
    NodeEventSpec,
)

__all__ = [
    "ChangeSpec",
    "CostEventSpec",
    "EventSpec",
    "HappeningSpec",
    "LinkEventSpec",
    "MomentSpec",
    "NodeEventSpec",
]
