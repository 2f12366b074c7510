"""Study vem2006-ospf: its map, its timers, and what counts as convergence."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from delaylab.units import Duration
from delaylab_papers.vem2006.ospf.measures import SLOWER, Setting, convergence_s
from delaylab_papers.vem2006.ospf.world import as_published
from delaylab_study.papers.studies import find
from delaylab_study.study.order import plan_trials
from delaylab_study.study_file.load import load_study
from tests.controls.control import designs_as_run

STUDY = "vem2006-ospf"
TIMES = ("hello", "dead", "poll", "retransmit", "lsa_interval", "spf_delay", "spf_hold")


def test_its_map_is_that_of_the_assignment_with_lans_in_place_of_cables() -> None:
    folder = Path(find(STUDY)).parent / "ospf"
    cables = (folder / "as1755.yaml").read_text()
    assert cables.count("{between: [") == 161
    lans = (folder / "as1755-switched.yaml").read_text()
    assert lans.endswith(cables.replace("{between: [", "{join: ["))


def test_fast_timers_are_the_paper_s_divided_by_one_number() -> None:
    trials = plan_trials(load_study(find(STUDY)), "paper", {"daemon": {"frr"}})
    paper, fast = (
        next(t.combination.lab.routing for t in trials if t.combination.levels["timers"] == level)
        for level in ("paper", "fast")
    )
    assert paper is not None
    assert fast is not None
    for name in TIMES:
        long, short = (getattr(each.ospf, name) for each in (paper, fast))
        assert isinstance(long, Duration)
        assert long.ns == SLOWER["fast"] * short.ns, name


@pytest.mark.parametrize("wrong", [None, "2094 routes are wrong"])
def test_tables_that_are_wrong_in_the_end_have_not_converged(wrong: str | None) -> None:
    design = next(each for each in designs_as_run(STUDY, "quick") if each.levels["event"] == "link")
    group = as_published(design, np.random.default_rng(1))
    seen = [
        replace(
            trial,
            events=[
                replace(each, record=each.record.model_copy(update={"wrong": wrong}))
                for each in trial.events
            ],
        )
        for trial in group.convergence
    ]
    where = Setting("fast", "frr", "nbma")
    found = convergence_s([replace(group, convergence=seen)], where, "link up", single=True)
    assert len(found) == (0 if wrong else design.trials)
