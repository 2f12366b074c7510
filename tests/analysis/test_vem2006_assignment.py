"""The claims of vem2006 on assignment: its table, its networks, and its planner's program."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from delaylab_papers.vem2006.assignment import tables
from delaylab_papers.vem2006.assignment.claims import CLAIMS
from delaylab_papers.vem2006.assignment.world import Truth
from delaylab_study.analysis.claims.judge import judge
from delaylab_study.analysis.group import Group
from delaylab_study.papers.studies import find
from delaylab_study.study_file.combine import combinations
from delaylab_study.study_file.load import load_study
from delaylab_study.study_file.work import CommandWork
from tests.controls.vem2006.assignment import PAPER, world


def drawn(truth: Truth) -> list[Group]:
    return world(truth)(np.random.default_rng(1))


@pytest.mark.parametrize("claim", list(CLAIMS))
def test_without_trials_no_claim_is_testable(claim: str) -> None:
    assert judge(CLAIMS[claim], []).verdict == "not testable here"


def test_one_network_without_an_assignment_contradicts_that_all_have_one() -> None:
    claim = CLAIMS["assignment-worst-fit-even"]
    groups = drawn(PAPER)
    assert judge(claim, groups).verdict == "reproduced"
    trial = groups[0].trials[0]
    planner = trial.work[0]
    none = {"fits", "worst-fit-over"}
    failed = [
        each.model_copy(update={"value": 0.0}) if each.name in none else each
        for each in planner.figures
    ]
    work = [planner.model_copy(update={"figures": failed})]
    groups[0].trials[0] = trial.model_copy(update={"work": work})
    assert judge(claim, groups).verdict != "reproduced"


def test_the_table_has_each_network() -> None:
    (table,) = tables.tables(drawn(replace(PAPER, noise=0)))
    rows = {row[0]: row[1:] for row in table.rows}
    assert rows["as1755"] == ["worst-fit", "5", "1.030", "1.030", "90 %", "0.8"]
    assert len(rows) == 7
    assert tables.tables([]) == []


@pytest.mark.parametrize("scale", ["quick", "paper"])
def test_each_trial_is_another_network(scale: str) -> None:
    made = list(combinations(load_study(find("vem2006-assignment")), scale))
    tried = {
        (tuple(work.command), each.lab.nodes["planner"].files["/etc/assignment/seed"].content)
        for each in made
        for work in each.work
        if isinstance(work, CommandWork)
    }
    assert len(tried) == len(made) == 7 * (5 if scale == "quick" else 20)


def test_a_map_in_another_order_is_the_same_map() -> None:
    """The order of AS 1755's lines follows from the seed, and nothing else is changed."""
    study = load_study(find("vem2006-assignment"))
    (work,) = next(combinations(study, "quick")).work
    assert isinstance(work, CommandWork)
    begin = work.command[2].index("def shuffled")
    program = work.command[2][begin : work.command[2].index("machines, *shape")]
    path = Path(find("vem2006-assignment")).parent / "ospf" / "as1755.yaml"
    code = f"import random\n{program}\nprint(shuffled(open({str(path)!r}).read(), 1), end='')"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    text = path.read_text().partition("routing:")[0]
    assert ran.stdout != text
    assert sorted(ran.stdout.splitlines()) == sorted(text.splitlines())
    assert ran.stdout.index("nodes:\n") == text.index("nodes:\n")
