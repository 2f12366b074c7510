"""The claims of vem2006 on assignment: its table, its networks, and its planner's program."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from delaylab.api.records import DoubtKind, doubt
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


def test_one_violated_constraint_contradicts_that_all_are_kept() -> None:
    claim = CLAIMS["assignment-constraints-kept"]
    groups = drawn(PAPER)
    assert judge(claim, groups).verdict == "reproduced"
    trial = groups[0].trials[0]
    planner = trial.work[0]
    one = [
        each.model_copy(update={"value": 1.0}) if each.name == "ill" else each
        for each in planner.figures
    ]
    work = [planner.model_copy(update={"figures": one})]
    groups[0].trials[0] = trial.model_copy(update={"work": work})
    assert judge(claim, groups).verdict == "contradicted"


def test_what_is_computed_is_not_opened_by_a_busy_machine() -> None:
    groups = drawn(PAPER)
    busy = doubt(DoubtKind.NOT_AT_REST, "other work ran", "")
    for group in groups:
        group.trials[:] = [each.model_copy(update={"warnings": [busy]}) for each in group.trials]
    claim = CLAIMS["assignment-constraints-kept"]
    found = judge(claim, groups)
    assert (found.verdict, len(found.doubts)) == ("reproduced", 1)
    assert judge(replace(claim, about=("protocol",)), groups).verdict == "open"


def test_the_table_has_each_network() -> None:
    (table,) = tables.tables(drawn(PAPER))
    rows = {row[0]: row[1:] for row in table.rows}
    assert rows["as1755"] == ["5", "188", "10", "5 of 5", "1.0000", "–"]
    assert rows["small"][-1] == "1.0000"
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


def program() -> str:
    study = load_study(find("vem2006-assignment"))
    content = next(combinations(study, "quick")).lab.nodes["planner"].files["/etc/assignment/plan"]
    return content.content or ""


def test_a_map_in_another_order_is_the_same_map() -> None:
    """The order of AS 1755's lines follows from the seed; links get the bandwidth that counts."""
    code = program()
    part = code[code.index("def shuffled") : code.index("machines, *shape")]
    path = Path(find("vem2006-assignment")).parent / "ospf" / "as1755.yaml"
    code = f"import random, re\n{part}\nprint(shuffled(open({str(path)!r}).read(), 1), end='')"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    text = path.read_text().partition("routing:")[0]
    without = ran.stdout.replace(", bandwidth: 1Mbit", "")
    assert without != text
    assert sorted(without.splitlines()) == sorted(text.splitlines())
    assert without.index("nodes:\n") == text.index("nodes:\n")


@pytest.mark.parametrize(
    "change", ["", "assigned['nodes'].popitem()", "assigned['interfaces'].pop()"]
)
def test_the_planner_counts_what_is_violated(change: str, tmp_path: Path) -> None:
    """The map of AS 1755 keeps all limits; with a router or an interface less it does not."""
    folder = Path(find("vem2006-assignment")).parent / "ospf"
    (tmp_path / "seed").write_text("1")
    code = program().replace("/etc/assignment/seed", str(tmp_path / "seed"))
    code = code.replace("/etc/assignment/as1755.yaml", str(folder / "as1755.yaml"))
    code = code.replace("/tmp/assignment.yaml", str(tmp_path / "lab.yaml"))
    code = code.replace('print("links"', f'{change}\nprint("links"').partition("bins = ")[0]
    tools = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    ran = subprocess.run(
        [sys.executable, "-c", code, "9", "as1755"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PATH": tools},
    )
    ill = int(ran.stdout.partition("ill ")[2].split()[0])
    assert (ill == 0) == (change == "")
