"""Verdicts of `doctor --stable` on null trials with a known answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from delaylab.errors import BadInput
from delaylab_study.analysis.analyse import groups
from delaylab_study.dataset.store import read_study
from delaylab_study.verbs.stable import SIDES, Stability, of_groups
from tests import synthetic
from tests.synthetic import Condition, lognormal


def null(side: str, repeat: int, slower: float = 1.0, lost: int = 0) -> Condition:
    return Condition(
        factors={"side": side},
        repeat=repeat,
        packets=400,
        seed=10 * repeat + SIDES.index(side),
        default=lognormal(5 * slower),
        lost_after=dict.fromkeys(range(lost), ("request", "wire")),
    )


def found(folder: Path, conditions: list[Condition]) -> Stability:
    study = read_study(synthetic.write(folder / "data", conditions))
    return of_groups("netns", list(groups(study)))


def test_a_machine_on_which_nothing_differs_is_fit(tmp_path: Path) -> None:
    said = found(tmp_path, [null(side, n) for n in range(1, 6) for side in SIDES])
    assert said.faults == []
    assert (said.trials, said.lost) == (10, 0)
    low, high = said.interval_us
    assert low < 0 < high


@pytest.mark.parametrize(
    ("conditions", "fault"),
    [
        ([null(s, n, 1.5 if s == "B" else 1.0) for n in range(1, 6) for s in SIDES], "the same"),
        ([null(s, n, 1 + n / 20) for n in range(1, 6) for s in SIDES], "medians differ by"),
        ([null(s, n, lost=1) for n in range(1, 6) for s in SIDES], "10 of 4000 packets were lost"),
    ],
    ids=["sides", "drift", "loss"],
)
def test_what_a_machine_does_to_null_trials_is_named(
    tmp_path: Path, conditions: list[Condition], fault: str
) -> None:
    assert any(fault in each for each in found(tmp_path, conditions).faults)


def test_too_few_trials_say_nothing(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="too few null trials"):
        found(tmp_path, [null(side, n) for n in (1, 2) for side in SIDES])
