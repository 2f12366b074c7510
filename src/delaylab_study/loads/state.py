"""State and results of running loads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from delaylab.api.agents import Watched
from delaylab_study.dataset.records.rates import Flow, HeldRate
from delaylab_study.dataset.records.trial import Load
from delaylab_study.study_file.loads import HeldFramesLoad, LoadSpec, PairLoad


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
        load, configured = self.load, str(self.load.amount)
        if isinstance(load, HeldFramesLoad):
            configured += f", {load.at} of it"
        return Load(
            load=load.what,
            on=load.on,
            to=load.to if isinstance(load, PairLoad) else None,
            configured=configured,
            achieved=self.achieved,
            flows=list(self.flows),
            rate=self.rate,
        )


FoundRate = tuple[HeldFramesLoad, HeldRate]
"""A load of `frames: held`, and the rate that was found for it."""


class RunningLoads:
    """Loads that run; `sessions` must be watched meanwhile.

    `rates` are those found by search. `probed` is the link by which a probe's packets arrive.
    `foreseen_s` is how long they will run, None if that is not known.
    """

    def __init__(
        self, rates: Sequence[FoundRate], probed: str | None, foreseen_s: float | None = None
    ) -> None:
        self.rates, self.probed, self.foreseen_s = rates, probed, foreseen_s
        self.sessions: list[Watched] = []
        self.achieved: list[Achieved] = []

    def rate_of(self, load: LoadSpec) -> HeldRate | None:
        """Return the rate that a search found for a load, or None."""
        return next((rate for each, rate in self.rates if each == load), None)
