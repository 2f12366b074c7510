"""The claims of vem2006 on nodes that share a CPU: its tables, and trials that do not count."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from delaylab_papers.vem2006.sharing import measures, tables
from delaylab_papers.vem2006.sharing.claims import CLAIMS
from delaylab_papers.vem2006.sharing.world import Truth
from delaylab_study.analysis.claims.judge import judge
from delaylab_study.analysis.group import Group
from delaylab_study.papers.studies import find
from delaylab_study.study_file.combine import combinations
from delaylab_study.study_file.load import load_study
from delaylab_study.study_file.work import CommandWork
from tests.controls.vem2006.sharing import PAPER, world


def drawn(truth: Truth) -> list[Group]:
    return world(truth)(np.random.default_rng(1))


@pytest.mark.parametrize("claim", list(CLAIMS))
def test_without_trials_no_claim_is_testable(claim: str) -> None:
    assert judge(CLAIMS[claim], []).verdict == "not testable here"


def test_a_trial_in_which_nodes_missed_events_does_not_count() -> None:
    groups = drawn(PAPER)
    where = next(measures.settings(groups, "job"))
    assert len(measures.figures(groups, where, "done-last")) == 5
    (group,) = measures.groups_of(groups, where)
    sender = group.trials[0].work[0]
    deaf = [
        each.model_copy(update={"value": 0.5}) if each.name == "heard" else each
        for each in sender.figures
    ]
    work = [sender.model_copy(update={"figures": deaf})]
    group.trials[0] = group.trials[0].model_copy(update={"work": work})
    assert len(measures.figures(groups, where, "done-last")) == 4


def test_the_table_has_each_event_beside_the_paper() -> None:
    (table,) = tables.tables(drawn(replace(PAPER, noise=0)))
    assert ["job", "5 nodes, at rest, uml", "done first", ("52.000", "52")] in table.rows
    assert ["broadcast", "10 nodes, under load, uml", "widest", ("2.000", "2.5")] in table.rows
    assert tables.tables([]) == []


@pytest.mark.parametrize("scale", ["quick", "paper"])
def test_the_programs_are_ones_and_are_told_the_number_of_nodes(scale: str) -> None:
    made = list(combinations(load_study(find("vem2006-sharing")), scale))
    assert {int(each.levels["nodes"]) for each in made} >= {5, 10}
    for each in made:
        nodes = sum(name.startswith("n-") for name in each.lab.nodes)
        by_name = {work.name: work for work in each.work}
        assert len(by_name["receive"].on) == nodes == int(each.levels["nodes"])
        for work in each.work:
            assert isinstance(work, CommandWork)
            compile(work.command[2], work.name, "exec")
            told = {"send": str(nodes), "receive": each.levels["test"]}
            assert work.command[3] == told[work.name]
