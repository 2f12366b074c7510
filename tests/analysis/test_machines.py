"""Trials of several machines: pooled where they are shown to be alike, and only there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from delaylab.errors import BadInput
from delaylab_study.analysis.analyse import groups
from delaylab_study.analysis.compared.machines import MachinePair, machine_pairs
from delaylab_study.analysis.compared.many import compare_levels
from delaylab_study.analysis.compared.two_sides import ComparedSides
from delaylab_study.dataset.store import read_study
from delaylab_study.verbs import datasets
from tests import synthetic
from tests.synthetic import Condition, lognormal


def pairs(folder: Path, conditions: list[Condition]) -> list[MachinePair]:
    place = synthetic.write(folder / "data", conditions)
    return machine_pairs(list(groups(read_study(place))))


def on(machine: str, repeat: int, slower: float = 1.0, packets: int = 500) -> Condition:
    return Condition(
        "netns",
        repeat=repeat,
        machine=machine,
        packets=packets,
        seed=repeat,
        default=lognormal(5 * slower),
    )


def on_two() -> list[Condition]:
    return [*(on("lab1", n) for n in (1, 2, 3)), *(on("lab2", n, 1.5) for n in (4, 5, 6))]


@pytest.mark.parametrize(("slower", "alike"), [(1.0, True), (1.2, False), (1 / 1.2, False)])
def test_machines_that_are_alike_may_be_pooled_and_others_not(
    tmp_path: Path, slower: float, alike: bool
) -> None:
    conditions = [
        *(on("lab1", repeat) for repeat in (1, 2, 3)),
        *(on("lab2", repeat, slower) for repeat in (4, 5, 6)),
    ]
    (found,) = pairs(tmp_path, conditions)
    assert (found.first, found.second, found.trials) == ("lab1", "lab2", (3, 3))
    assert found.may_be_pooled is alike
    assert (found.difference_us.value > 0) == (slower > 1) or alike


def test_few_packets_show_neither(tmp_path: Path) -> None:
    conditions = [on("lab1", 1, packets=40), on("lab2", 2, packets=40)]
    (found,) = pairs(tmp_path, conditions)
    assert found.may_be_pooled is None


def test_one_machine_is_compared_with_nothing(tmp_path: Path) -> None:
    assert not pairs(tmp_path, [on("lab1", 1), on("lab1", 2)])


def test_the_report_says_it(tmp_path: Path) -> None:
    study = read_study(synthetic.write(tmp_path / "data", on_two()))
    table = datasets.table(study, "pooling", None, ()).decode()
    assert "may_be_pooled" in table.splitlines()[0]
    assert '"lab1, lab2",no,' in table.splitlines()[1]
    numbers = datasets.numbers(study, None, ())
    assert isinstance(numbers["pooling"], list)
    assert numbers["pooling"][0]["may_be_pooled"] is False


def test_the_blocks_of_a_repeat_on_two_machines_are_apart(tmp_path: Path) -> None:
    """A machine was lost while it ran the second repeat; another one ran the rest of it."""
    conditions = [
        *(Condition("netns", load, repeat=1, machine="lab1") for load in ("rest", "cpu")),
        Condition("netns", "rest", repeat=2, machine="lab1"),
        Condition("netns", "cpu", repeat=2, machine="lab2"),
    ]
    study = read_study(synthetic.write(tmp_path / "data", conditions))
    assert [trial.block for trial in study.trials] == [1, 1, 2, 3]


def compared(folder: Path, conditions: list[Condition]) -> ComparedSides:
    found = read_study(synthetic.write(folder / "compared", conditions))
    (sides,) = compare_levels(found, "machine", ["lab1", "lab2"], {}).compared
    return sides


def test_machines_are_compared_like_levels(tmp_path: Path) -> None:
    seen = compared(tmp_path, on_two()).seen
    assert {line.statistic for line in seen} >= {"median"}
    assert all(line.effect.value > 0 for line in seen), "lab2 is slower in all that differs"
    assert all(line.pair.trials == (3, 3) for line in seen)


def test_machines_that_are_alike_do_not_differ(tmp_path: Path) -> None:
    conditions = [*(on("lab1", n) for n in (1, 2, 3)), *(on("lab2", n) for n in (4, 5, 6))]
    assert not compared(tmp_path, conditions).seen


def test_levels_are_compared_on_one_of_the_machines(tmp_path: Path) -> None:
    """lab2 alone is slow, and on it the levels are swapped."""
    conditions = [
        replace(
            on(machine, repeat, slower=(1.0 if level == fast else 1.5)),
            factors={"level": level},
            seed=10 * repeat + (level == "b"),
        )
        for machine, fast, repeats in (("lab1", "a", (1, 2, 3)), ("lab2", "b", (4, 5, 6)))
        for repeat in repeats
        for level in ("a", "b")
    ]
    found = read_study(synthetic.write(tmp_path / "data", conditions))
    for machine, sign in (("lab1", 1), ("lab2", -1)):
        (sides,) = compare_levels(found, "level", ["a", "b"], {"machine": {machine}}).compared
        assert {np.sign(line.effect.value) for line in sides.seen} == {sign}
    with pytest.raises(BadInput, match="factor 'machine' has no level 'lab3'"):
        compare_levels(found, "machine", ["lab1", "lab3"], {})
