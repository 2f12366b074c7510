"""A dataset gets more repeats as they would have been, and a study is run again as it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from delaylab.errors import BadInput
from delaylab_study.dataset import store
from delaylab_study.study.order import begin, plan_trials
from delaylab_study.study_file.load import load_study
from delaylab_study.verbs import studies

STUDY = """\
study: mine
lab:
  lab: mine
  nodes: {probe: {}, echo: {}}
  links: [{between: [probe, echo]}]
factors:
  load: {rest: [], cpu: [{cpu: 1, on: echo}]}
  size: {small: {probe.size: 60}, large: {probe.size: 900}}
probe: {from: probe, to: echo, count: 200, interval: 5ms}
repeat: 2
seed: 7
"""


@pytest.fixture
def study(tmp_path: Path) -> Path:
    place = tmp_path / "mine.yaml"
    place.write_text(STUDY)
    return place


def begun(study: Path, out: Path, **only: set[str]) -> Path:
    loaded = load_study(study)
    return begin(loaded, "quick", plan_trials(loaded, "quick", only), out)


def ids(folder: Path) -> list[str]:
    return store.read_study(folder).record.planned


@pytest.mark.root
@pytest.mark.agent
def test_added_repeats_are_those_of_a_longer_study(study: Path, tmp_path: Path) -> None:
    out = begun(study, tmp_path / "out")
    before = ids(out)
    studies.extend(out, 5)
    assert ids(out)[: len(before)] == before
    assert ids(out) == [each.id for each in plan_trials(load_study(study), "quick", {}, 5)]
    planned = studies.planned_in(out)
    assert [each.id for each in planned] == ids(out)
    assert [each.index for each in planned] == list(range(20))
    (added,) = store.read_study(out).record.extensions
    assert (added.before, added.repeat, added.finished) == (2, 5, 0)


@pytest.mark.agent
def test_levels_that_were_left_out_stay_out(study: Path, tmp_path: Path) -> None:
    out = begun(study, tmp_path / "out", load={"cpu"})
    studies.extend(out, 3)
    assert len(ids(out)) == 6
    assert all("load=cpu" in trial for trial in ids(out))


@pytest.mark.agent
def test_fewer_repeats_are_refused_and_as_many_change_nothing(study: Path, tmp_path: Path) -> None:
    out = begun(study, tmp_path / "out")
    before = (out / "study.json").read_bytes()
    with pytest.raises(BadInput) as raised:
        studies.extend(out, 1)
    assert "--repeat 1 is fewer" in str(raised.value)
    studies.extend(out, 2)
    assert (out / "study.json").read_bytes() == before
    studies.extend(out, 3)
    studies.extend(out, 4)
    assert [each.before for each in store.read_study(out).record.extensions] == [2, 3]


@pytest.mark.agent
def test_a_study_is_planned_again_as_it_was(study: Path, tmp_path: Path) -> None:
    out = begun(study, tmp_path / "out", load={"cpu"})
    studies.extend(out, 3)
    study.unlink()
    plan = studies.planned_study_like(out)
    assert [each.id for each in plan.planned] == ids(out)
    again = studies.begin(plan, tmp_path / "again")
    ours, theirs = (store.read_study(place).record for place in (out, again))
    assert (ours.planned, ours.spec, ours.seed) == (theirs.planned, theirs.spec, theirs.seed)
    assert theirs.like is not None
    assert theirs.like.created == ours.created
    assert theirs.extensions == []
