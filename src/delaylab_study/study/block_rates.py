"""Rates of frames that the trials of a block share, each searched once (`once_across`)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path

from delaylab.api.lab import Lab
from delaylab.api.running import LiveLab
from delaylab_study import loads
from delaylab_study.dataset import store
from delaylab_study.dataset.records.rates import HeldRate
from delaylab_study.dataset.records.trial import TrialRecord
from delaylab_study.study.order import Planned
from delaylab_study.study_file.loads import HeldFramesLoad

Key = tuple[int, tuple[tuple[str, str], ...], str]
"""The trials that share a rate: their block, the levels that they have in common, and the load."""


def key(item: Planned, load: HeldFramesLoad) -> Key:
    """Return the key of the trials that share a load's rate with a trial."""
    shared = load.once_across or ()
    levels = item.combination.levels.items()
    common = tuple((factor, level) for factor, level in levels if factor not in shared)
    return item.repeat, common, load.model_dump_json(exclude={"at"})


class BlockRates:
    """The rates that are known so far, and the labs in which the others are to be searched."""

    def __init__(self, trials: Sequence[Planned], known: Mapping[Key, HeldRate]) -> None:
        self._found = dict(known)
        self._labs: dict[Key, Lab] = {}
        for item in sorted(trials, key=lambda each: each.place):
            for load in _shared(item):
                self._labs.setdefault(key(item, load), item.combination.lab)

    def of(self, item: Planned, start: Callable[[Lab], LiveLab]) -> list[loads.FoundRate]:
        """Return the shared rates of a trial's loads; `start` starts the lab of a search."""
        found = []
        for load in _shared(item):
            place = key(item, load)
            if place not in self._found:
                self._found[place] = loads.find_rate(start(self._labs[place]), load)
            found.append((load, self._found[place]))
        return found


def _shared(item: Planned) -> Iterator[HeldFramesLoad]:
    """Yield the loads of a trial whose rate is searched once for several trials."""
    held = (load for load in item.combination.loads if isinstance(load, HeldFramesLoad))
    yield from (load for load in held if load.once_across)


def recalled(out: Path, planned: Sequence[Planned], done: Collection[str]) -> dict[Key, HeldRate]:
    """Return the rates that trials on disk have used, so that a resumed block goes on with them.

    A record names a load by its two nodes; so a rate goes to the load between the same nodes.
    """
    sharing = [item for item in planned if item.id in done and any(_shared(item))]
    if not sharing:
        return {}
    records = {trial.id: trial for trial in store.read_study(out).trials}
    found: dict[Key, HeldRate] = {}
    for item in sharing:
        if item.id in records:
            found = recorded_rates(item, records[item.id]) | found
    return found


def recorded_rates(item: Planned, record: TrialRecord) -> dict[Key, HeldRate]:
    """Return the shared rates that a trial has used."""
    found: dict[Key, HeldRate] = {}
    for load in _shared(item):
        recorded = (each.rate for each in record.loads if (each.on, each.to) == (load.on, load.to))
        rate = next((each for each in recorded if each is not None), None)
        if rate is not None:
            found.setdefault(key(item, load), rate)
    return found
