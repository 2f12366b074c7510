"""The rate of frames that the trials of a block share: searched once, in the lab of reference."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from delaylab.errors import BadInput
from delaylab.lab.running import LiveLab
from delaylab.resolve.lab import Lab
from delaylab_study import loads
from delaylab_study.dataset import store
from delaylab_study.dataset.records.rates import HeldRate
from delaylab_study.dataset.records.trial import Load
from delaylab_study.study import estimate
from delaylab_study.study.block_rates import BlockRates, recalled
from delaylab_study.study.order import Planned, begin, plan_trials
from delaylab_study.study_file.load import load_study
from delaylab_study.study_file.loads import LoadSpec
from tests.controls.world import record

STUDY = """
study: shared
lab:
  lab: shared
  nodes: {a: {}, b: {}}
  links: [{between: [a, b], name: ab, delay: 0ms}]
factors:
  delay: {none: {}, some: {links.ab.delay: 5ms}}
  size: {"64": {loads.frames.size: 64}, "512": {loads.frames.size: 512}}
  load:
    half: [{frames: held, at: 50%, on: a, to: b, once_across: [delay, load]}]
    all: [{frames: held, at: 100%, on: a, to: b, once_across: [delay, load]}]
probe: {from: a, to: b}
repeat: 2
"""


@pytest.fixture
def planned(tmp_path: Path) -> list[Planned]:
    place = tmp_path / "shared.yaml"
    place.write_text(STUDY)
    return plan_trials(load_study(place), "quick", {})


class Searches:
    """Stands for the search: each call finds another rate, and is counted with its lab."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.labs: list[Lab] = []
        monkeypatch.setattr(loads, "find_rate", self._find)

    def start(self, spec: Lab) -> LiveLab:
        return cast(LiveLab, spec)

    def _find(self, lab: LiveLab, load: LoadSpec) -> HeldRate:
        self.labs.append(cast(Lab, lab))
        return rate(len(self.labs))


def rate(frames_per_s: float) -> HeldRate:
    return HeldRate(frames_per_s=frames_per_s, tolerance=0, bound="loss", judged=("ab",), tries=())


def test_a_block_searches_once_for_each_size_without_the_delay(
    planned: list[Planned], monkeypatch: pytest.MonkeyPatch
) -> None:
    searches, rates = Searches(monkeypatch), BlockRates(planned, {})
    used: dict[tuple[int, str], set[float]] = {}
    for item in planned:
        ((load, found),) = rates.of(item, searches.start)
        assert load in item.combination.loads
        used.setdefault((item.repeat, item.combination.levels["size"]), set()).add(
            found.frames_per_s
        )
    assert len(planned) == 16
    assert len(searches.labs) == len(used) == 4
    assert all(len(found) == 1 for found in used.values())
    # The factors' first levels: the link without its delay.
    assert {str(lab.written.links[0].delay) for lab in searches.labs} == {"0ns"}


@pytest.mark.agent
def test_a_resumed_block_goes_on_with_the_rate_that_it_had(
    planned: list[Planned], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    searches, first, out = Searches(monkeypatch), planned[0], tmp_path / "data"
    begin(load_study(tmp_path / "shared.yaml"), "quick", planned, out)
    before = Load(load="frames", on="a", to="b", rate=rate(12345))
    done = record(first.combination.levels, "netns", [before], repeat=first.repeat)
    assert done.id == first.id
    write(out, done.model_dump_json(by_alias=True), first.id)
    rates = BlockRates(planned, recalled(out, planned, store.finished(out)))
    size = first.combination.levels["size"]
    again = next(
        item
        for item in planned[1:]
        if item.repeat == first.repeat and item.combination.levels["size"] == size
    )
    ((_, found),) = rates.of(again, searches.start)
    assert (found.frames_per_s, searches.labs) == (12345, [])


def write(out: Path, trial: str, name: str) -> None:
    place = out / "trials" / name
    place.mkdir(parents=True)
    (place / "trial.json").write_text(trial)


def test_a_shared_search_is_counted_once_in_the_estimate(planned: list[Planned]) -> None:
    seconds = estimate.trials_s(planned)
    long = [s for s in seconds if s > min(seconds) + estimate.SEARCH_S / 2]
    assert len(long) == 4


def test_a_factor_that_is_not_there_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "wrong.yaml"
    place.write_text(STUDY.replace("[delay, load]", "[dealy]"))
    with pytest.raises(BadInput, match="dealy"):
        plan_trials(load_study(place), "quick", {})
