"""State and results of running loads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from delaylab.agent.session import Session
from delaylab.dataset.records.rates import Flow, HeldRate
from delaylab.dataset.records.trial import Load
from delaylab.spec.study import LoadSpec


@dataclass
class Achieved:
    """The configuration of a load and its results, as a trial records them.

    For frames, `flows` counts each flow, and `rate` is the search for the rate, if there was one.
    """

    load: LoadSpec
    achieved: dict[str, float]
    flows: Sequence[Flow] = ()
    rate: HeldRate | None = None

    def record(self) -> Load:
        """Return the load's entry in trial.json."""
        configured = str(self.load.network or self.load.frames or self.load.workers)
        if self.rate is not None:
            configured += f", {self.load.at} of it"
        return Load(
            load=self.load.what,
            on=self.load.on,
            to=self.load.to,
            configured=configured,
            achieved=self.achieved,
            flows=list(self.flows),
            rate=self.rate,
        )


FoundRate = tuple[LoadSpec, HeldRate]
"""A load of `frames: held`, and the rate that was found for it."""


class Running:
    """Loads that run; `sessions` must be watched meanwhile.

    `rates` are those found by search. `probed` is the link by which a probe's packets arrive.
    """

    def __init__(self, rates: Sequence[FoundRate], probed: str | None) -> None:
        self.rates, self.probed = rates, probed
        self.sessions: list[Session] = []
        self.achieved: list[Achieved] = []

    def rate_of(self, load: LoadSpec) -> HeldRate | None:
        """Return the rate that a search found for a load, or None."""
        return next((rate for each, rate in self.rates if each == load), None)
