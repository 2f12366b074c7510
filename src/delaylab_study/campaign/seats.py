"""Seats of a campaign: places at which machines run trials, and what is heard of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from delaylab_study.campaign.parcel import Declared, Parcel, TrialJob


@dataclass(frozen=True, slots=True)
class MachineJoined:
    """The news that a machine is there, with what it says of itself."""

    name: str
    declared: Declared


@dataclass(frozen=True, slots=True)
class MachineRefused:
    """The news that a machine is there and cannot be used, with the reason."""

    name: str
    why: str


@dataclass(frozen=True, slots=True)
class MachineLeft:
    """The news that a machine is gone, with what it ran: its outcome will not come."""

    name: str
    why: str


@dataclass(frozen=True, slots=True)
class TrialEnded:
    """The news that a machine has ended a trial."""

    name: str
    trial: str
    parcel: Parcel


@dataclass(frozen=True, slots=True)
class TrialBroke:
    """The news that the process that ran a trial ended without an outcome; the machine is there."""

    name: str
    trial: str
    why: str


News = MachineJoined | MachineRefused | MachineLeft | TrialEnded | TrialBroke


class Seats(Protocol):
    """The machines of a campaign. Each has a name and runs one trial at a time."""

    def heard(self, timeout_s: float | None) -> News | None:
        """Return what is heard next, None if nothing is for `timeout_s`.

        Raise DelaylabError if no more will ever be heard.
        """

    def awaited(self) -> bool:
        """Return True if a machine was asked what it is, and has not answered yet."""

    def begin(self, name: str, job: TrialJob) -> None:
        """Let a machine run a trial; its end is heard of later."""

    def close(self) -> None:
        """End what runs, and take down the labs of all machines."""
