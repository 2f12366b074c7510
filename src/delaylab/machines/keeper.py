"""Keepers of labs: each keeps one lab, or one machine's part of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from delaylab.agent.session import Session
    from delaylab.plan.model import Plan

BUILD_DEADLINE_S = 120


class Keeper(Protocol):
    """The keeper of a lab: a process outside of the lab, which ends with this one unless kept."""

    session: Session

    def keep(self) -> None:
        """Keep the lab from now on, until it is taken down."""

    def release(self) -> None:
        """End the lab, and wait until it is gone. Ctrl-C does not end this wait."""


def build_deadline_s(plan: Plan) -> float:
    """Return the seconds that the keeper may take, with its guests' own deadlines added."""
    guests = (agent.guest.deadline_ms / 1000 for agent in plan.agents if agent.guest)
    return BUILD_DEADLINE_S + max(guests, default=0)
