"""What loads leave behind: what was asked of each and what it did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from delaylab.records.rates import Flow, HeldRate
from delaylab.spec import LoadSpec
from delaylab.wireline import Session


@dataclass
class Achieved:
    """What a load was asked to do and what it did, as a trial records it.

    `flows` and `rate`: of frames, what each flow sent, and how the rate was found if by search.
    """

    load: LoadSpec
    achieved: dict[str, float]
    flows: Sequence[Flow] = ()
    rate: HeldRate | None = None

    def record(self) -> dict[str, Any]:
        """The entry in trial.json."""
        asked = str(self.load.network or self.load.frames or self.load.workers)
        if self.rate is not None:
            asked += f", {self.load.at} of it"
        return {
            "load": self.load.what,
            "on": self.load.on,
            "to": self.load.to,
            "asked": asked,
            "achieved": self.achieved,
            "flows": [flow.model_dump() for flow in self.flows],
            "rate": self.rate.model_dump() if self.rate else None,
        }


class Running:
    """Loads that run; `sessions` are to be watched while they do.

    `rates`: those that were found by search. `probed`: the link by which a probe's packets arrive.
    """

    def __init__(self, rates: Sequence[tuple[LoadSpec, HeldRate]], probed: str | None) -> None:
        self.rates, self.probed = rates, probed
        self.sessions: list[Session] = []
        self.achieved: list[Achieved] = []

    def rate_of(self, load: LoadSpec) -> HeldRate | None:
        """The rate that was found for a load, if it was searched for."""
        return next((rate for each, rate in self.rates if each is load), None)
