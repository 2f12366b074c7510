"""What loads leave behind: what was asked of each and what it did."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from delaylab.spec import LoadSpec
from delaylab.wireline import Session


@dataclass
class Achieved:
    """What a load was asked to do and what it did, as a trial records it."""

    load: LoadSpec
    achieved: dict[str, float]

    def record(self) -> dict[str, Any]:
        """The entry in trial.json."""
        asked = self.load.network or self.load.frames or self.load.workers
        return {
            "load": self.load.what,
            "on": self.load.on,
            "to": self.load.to,
            "asked": str(asked),
            "achieved": self.achieved,
        }


class Running:
    """Loads that run; `sessions` are to be watched while they do."""

    def __init__(self) -> None:
        self.sessions: list[Session] = []
        self.achieved: list[Achieved] = []
