"""Labels of groups in reports."""

from __future__ import annotations

from pathlib import Path

import pytest

from delaylab_study.analysis.analyse import groups
from delaylab_study.analysis.claims.groups import loads
from delaylab_study.dataset.store import read_study
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


def test_a_load_is_called_as_its_level_is(tmp_path: Path) -> None:
    """Tables called it `xz`, the level, and charts `cpu`, what the level does."""
    levels = (("rest", "none"), ("cpu", "xz"))
    conditions = [Condition(load=load, factors={"stress": name}) for load, name in levels]
    write(tmp_path, conditions, [])
    found = list(groups(read_study(tmp_path)))
    assert [group.load for group in found] == ["rest", "cpu"]
    assert loads(found) == ["none", "xz"]
    assert loads(found[:1]) == ["rest"]
