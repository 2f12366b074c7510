"""The text of an imported lab is YAML, whatever characters its source has."""

from __future__ import annotations

import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from delaylab.topology.text import scalar


@given(st.text())
@example("\U00010000")
@example("true")
@example("True")
@example("NO")
@example("1:30")
@example("\x85\x7f\ufeff")
def test_yaml_reads_the_same_text(text: str) -> None:
    assert yaml.safe_load(f"x: {scalar(text)}") == {"x": text}
