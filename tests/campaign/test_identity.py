"""The identity of a trial: the same for the same measurement, and for no other."""

from __future__ import annotations

from pathlib import Path

import pytest

from delaylab_study.study.order import Planned, plan_trials
from delaylab_study.study_file.load import load_study

STUDY = """\
study: one
lab:
  lab: one
  nodes: {a: {}, b: {}}
  links: [{between: [a, b], name: line, delay: 1ms}]
factors: {load: {rest: [], cpu: [{cpu: 1, on: b}]}}
probe: {from: a, to: b, count: 20, interval: 5ms}
repeat: 2
"""


def planned(folder: Path, text: str) -> list[Planned]:
    file = folder / "study.yaml"
    file.write_text(text)
    return plan_trials(load_study(file), "quick", {})


def identities(folder: Path, text: str) -> dict[str, str]:
    return {each.id: each.identity for each in planned(folder, text)}


def test_each_trial_has_its_own(tmp_path: Path) -> None:
    found = identities(tmp_path, STUDY)
    assert len(set(found.values())) == len(found) == 4


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("delay: 1ms", "delay: 1000us"),
        ("study: one", "study: one\ntitle: another title"),
        ("repeat: 2\n", "scales: {quick: {repeat: 2}}\n"),
    ],
)
def test_what_is_measured_alike_has_the_same(tmp_path: Path, before: str, after: str) -> None:
    text = STUDY.replace(before, after)
    assert text != STUDY
    assert identities(tmp_path, text) == identities(tmp_path, STUDY)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("delay: 1ms", "delay: 2ms"),
        ("cpu: 1", "cpu: 2"),
        ("interval: 5ms", "interval: 6ms"),
        ("repeat: 2", "repeat: 2\nseed: 7"),
    ],
)
def test_what_is_measured_otherwise_has_another(tmp_path: Path, before: str, after: str) -> None:
    changed = identities(tmp_path, STUDY.replace(before, after))
    same = {name for name, each in identities(tmp_path, STUDY).items() if changed[name] == each}
    # A level of the load is of two trials of the four.
    assert same == (
        {f"load=rest,repeat={repeat}" for repeat in (1, 2)} if "cpu" in before else set()
    )
