"""Labels of groups in reports."""

from __future__ import annotations

from pathlib import Path

import pytest

from delaylab.analysis.analyse import groups
from delaylab.dataset.store import read_study
from tests.synthetic import Condition, write


@pytest.mark.parametrize(
    ("factors", "label"),
    [
        ({"environment": "native", "load": "rest"}, "native, rest"),
        ({"delay": "0", "rate": "none", "size": "64"}, "delay=0 rate=none size=64"),
        ({"near": "netns", "far": "netns"}, "near=netns far=netns"),
    ],
)
def test_levels_that_do_not_speak_for_themselves_have_their_factors(
    tmp_path: Path, factors: dict[str, str], label: str
) -> None:
    write(tmp_path, [Condition(factors=factors, packets=20)], [])
    (group,) = groups(read_study(tmp_path))
    assert group.label == label
