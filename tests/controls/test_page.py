"""The table of docs/controls.md: what its cells say, and how many draws stand behind them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from tests.controls import __main__ as page
from tests.controls.control import KINDS, Outcome
from tests.controls.every import CONTROLS


def test_a_row_has_the_verdicts_of_each_world_the_most_frequent_first() -> None:
    verdicts = Counter({"open": 48, "reproduced": 150, "contradicted": 2})
    control = CONTROLS[0]
    name = control.claim.id
    found = [Outcome(name, kind, verdicts) for kind in KINDS]
    cell = "reproduced 75, open 24, contradicted 1"
    head = f"| [{name}](claims.md#{name}) | {control.design} | 200 |"
    assert page.row(control, found) == f"{head}{f' {cell} |' * 3} {control.by} |"


@pytest.mark.parametrize(("fails", "times"), [(False, 1), (True, page.MORE)])
def test_only_a_control_that_fails_gets_more_draws(
    monkeypatch: pytest.MonkeyPatch, fails: bool, times: int
) -> None:
    control = next(
        each for each in CONTROLS if each.claim.id == "rate-less-true-for-slow-and-small"
    )
    if fails:
        control = replace(control, worlds=dict.fromkeys(KINDS, control.worlds["opposite"]))
    monkeypatch.setattr(page, "CONTROLS", [control])
    assert {each.draws for each in page._outcomes(0, 2)} == {2 * times}
