"""Every claim says yes on its paper's own numbers, and no where the effect is absent or opposite.

One draw of each; `make controls` makes many, and prints the table.
"""

from __future__ import annotations

import pytest

from delaylab_study.papers.loading import claims
from tests.controls.control import KINDS, Control, failures, outcomes
from tests.controls.every import CONTROLS

DRAWS = 1


@pytest.mark.parametrize("control", CONTROLS, ids=lambda control: control.claim.id)
def test_a_claim_says_yes_and_no_as_it_should(control: Control) -> None:
    assert not failures(control, outcomes(control, DRAWS))


def test_every_claim_has_its_controls() -> None:
    assert sorted(control.claim.id for control in CONTROLS) == sorted(claims())
    assert all(set(control.worlds) == set(KINDS) for control in CONTROLS)
