"""The claim of vem2006 on clocks: its table, its programs, and trials that do not count."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from delaylab_papers.vem2006.clocks import measures, tables
from delaylab_papers.vem2006.clocks.claims import CLAIMS
from delaylab_papers.vem2006.clocks.world import Truth
from delaylab_study.analysis.claims.judge import judge
from delaylab_study.analysis.group import Group
from delaylab_study.papers.studies import find
from delaylab_study.study_file.combine import combinations
from delaylab_study.study_file.load import load_study
from delaylab_study.study_file.work import CommandWork
from tests.controls.vem2006.clocks import PAPER, world

WITHIN = CLAIMS["clocks-within-300us"]


def drawn(truth: Truth) -> list[Group]:
    return world(truth)(np.random.default_rng(1))


def test_without_trials_the_claim_is_not_testable() -> None:
    assert judge(WITHIN, []).verdict == "not testable here"


def test_machines_that_are_not_synchronised_do_not_count() -> None:
    groups = drawn(PAPER)
    assert judge(WITHIN, groups).verdict == "reproduced"
    alone = [group for group in groups if group.factors["sync"] == "none"]
    assert len(alone) == 1
    assert judge(WITHIN, alone).verdict == "not testable here"


def test_a_trial_in_which_receivers_missed_events_does_not_count() -> None:
    groups = drawn(PAPER)
    where = measures.Setting("chrony", 2, 1)
    assert len(measures.figures(groups, where, "clocks")) == 3
    (group,) = measures.groups_of(groups, where)
    sender = group.trials[0].work[0]
    deaf = [
        each.model_copy(update={"value": 0.5}) if each.name == "heard" else each
        for each in sender.figures
    ]
    work = [sender.model_copy(update={"figures": deaf})]
    group.trials[0] = group.trials[0].model_copy(update={"work": work})
    assert len(measures.figures(groups, where, "clocks")) == 2


def test_the_table_has_each_setting_beside_the_paper() -> None:
    (table,) = tables.tables(drawn(replace(PAPER, noise=0)))
    rows = {row[0]: row[1:] for row in table.rows}
    assert rows["2 machines with 1 node, by chrony"] == [("210", "300"), "420", "210", "420"]
    assert rows["1 machine with 10 nodes, by chrony"] == ["–", "–", "1350", "–"]
    assert rows["2 machines with 1 node, not synchronised"][3] == "–"
    assert tables.tables([]) == []


@pytest.mark.parametrize("scale", ["quick", "paper"])
def test_the_programs_are_ones_and_are_told_the_number_of_machines(scale: str) -> None:
    for each in combinations(load_study(find("vem2006-clocks")), scale):
        by_name = {work.name: work for work in each.work}
        assert len(by_name["note"].on) == int(each.levels["machines"])
        for work in each.work:
            assert isinstance(work, CommandWork)
            compile(work.command[2], work.name, "exec")
            told = {"send": each.levels["machines"], "note": each.levels["nodes"]}
            assert work.command[3] == told[work.name]
