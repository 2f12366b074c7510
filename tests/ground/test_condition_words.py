"""Each field of a condition has words, or is shown apart; none is dropped in silence."""

from __future__ import annotations

import pytest

from delaylab.spec.conditions import engine, words
from delaylab.spec.conditions.words import APART, FIELDS, one_line

OF_FILES = {"table", "runs", "points", "routes", "at_ns", "period_ns"}
"""Fields of parts that come from files, which are given by their length."""


def parts() -> list[type[engine.EngineForm]]:
    return [kind for kind in engine.EngineForm.__subclasses__() if kind is not engine.Conditions]


def test_each_field_of_a_part_has_words() -> None:
    assert engine.Red in parts()
    named = {name for kind in parts() for name in kind.model_fields}
    assert named - FIELDS.keys() - APART - OF_FILES == set()
    assert set(FIELDS) <= named


def test_a_number_that_is_no_share_needs_words_of_its_own() -> None:
    with pytest.raises(TypeError, match="no words for delay_per_byte_ns"):
        words._word("delay_per_byte_ns", 8)


def test_the_weight_of_red_is_told() -> None:
    red = engine.Red(min_bytes=1000, max_bytes=9000, probability=0.1, weight=0.25)
    asked = engine.Conditions(queue=engine.Queue(discipline=red))
    assert "weight: 25%" in one_line(asked)
