"""A factor may be the values of one setting: a list, or a range."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from delaylab.errors import BadInput
from delaylab.resolve.lab import Lab
from delaylab.units import BASES, Amount, Duration, Rate, Size, amount_of, text_of
from delaylab_study.analysis.compared.numbers import numbers_of
from delaylab_study.study_file.combine import combinations
from delaylab_study.study_file.load import load_study
from delaylab_study.study_file.series import levels_of

STUDY = """\
study: numbers
lab: {{lab: two, nodes: {{a: {{}}, b: {{}}}}, links: [{{between: [a, b], name: wan}}]}}
factors:
  delay: {delay}
probe: {{from: a, to: b}}
scales: {{other: {{factors.delay.1ms: {{links.wan.delay: 2ms}}}}}}
"""


def study(tmp_path: Path, delay: str) -> Any:
    path = tmp_path / "numbers.yaml"
    path.write_text(STUDY.format(delay=delay))
    return load_study(path)


def _delay(lab: Lab) -> object:
    return lab.written.links[0].delay


def test_each_value_is_a_level_that_sets_it(tmp_path: Path) -> None:
    loaded = study(tmp_path, "{set: links.wan.delay, values: [1ms, 20ms, 300us]}")
    found = {each.levels["delay"]: _delay(each.lab) for each in combinations(loaded, "quick")}
    assert found == {
        "1ms": Duration(1_000_000),
        "20ms": Duration(20_000_000),
        "300us": Duration(300_000),
    }
    other = {each.levels["delay"]: _delay(each.lab) for each in combinations(loaded, "other")}
    assert other == found | {"1ms": Duration(2_000_000)}


@pytest.mark.parametrize(
    ("given_range", "levels"),
    [
        ({"from": 0, "to": 8, "steps": 5}, ["0", "2", "4", "6", "8"]),
        ({"from": "1ms", "to": "4ms", "steps": 3}, ["1ms", "2.5ms", "4ms"]),
        (
            {"from": "100us", "to": "10ms", "steps": 5, "scale": "log"},
            ["100us", "316us", "1ms", "3.16ms", "10ms"],
        ),
        ({"from": "10%", "to": "30%", "steps": 3}, ["10pct", "20pct", "30pct"]),
        (
            {"from": "1Mbit", "to": "100Mbit", "steps": 3, "scale": "log"},
            ["1Mbit", "10Mbit", "100Mbit"],
        ),
    ],
)
def test_a_range_has_both_ends_and_round_values_between(
    given_range: dict[str, Any], levels: list[str]
) -> None:
    found = levels_of({"set": "x", "range": given_range})
    assert [*found] == levels
    numbers = numbers_of(levels)
    assert numbers is not None
    assert [*numbers.values] == levels


@pytest.mark.parametrize(
    ("delay", "said"),
    [
        ("{set: links.wan.delay}", "`values` or `range`"),
        ("{set: links.wan.delay, values: [1ms, 1ms]}", "two values are called '1ms'"),
        ("{set: links.wan.delay, range: {from: 1ms, to: 5, steps: 3}}", "one unit"),
        ("{set: links.wan.delay, range: {from: 0ms, to: 5ms, steps: 3, scale: log}}", "above 0"),
        ("{set: links.wan.delay, range: {from: 1ms, to: 5ms, steps: 1}}", "steps"),
        ("{set: links.wan.delay, range: {from: 1ms, to: 5ms}}", "steps"),
        ("{set: links.wan.delay, values: [a bit]}", "expected a duration"),
        ("{set: links.sea.delay, values: [1ms]}", "leads to nothing"),
        ("{set: [links.wan.delay], values: [[1ms]]}", "a list of different ones"),
        ("{set: [links.wan.delay, probe.count], values: [1ms, 2ms]}", "a list of 2 values"),
        ("{set: [links.wan.delay, probe.count], values: [[1ms]]}", "a list of 2 values"),
        ("{set: links.wan.delay, values: [[1ms, 5]]}", "has one value"),
        (
            "{set: [links.wan.delay, probe.count], range: {from: 1ms, to: 2ms, steps: 2}}",
            "`range` is of one setting",
        ),
    ],
)
def test_a_series_that_is_wrong_is_one_line_with_its_place(
    tmp_path: Path, delay: str, said: str
) -> None:
    with pytest.raises(BadInput) as raised:
        list(combinations(study(tmp_path, delay), "quick"))
    assert said in str(raised.value)
    assert "numbers.yaml" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_settings_that_move_together_are_levels_named_by_the_first(tmp_path: Path) -> None:
    both = "{set: [links.wan.delay, probe.count], values: [[1ms, 7], [2ms, 8], [3ms, 9]]}"
    found = list(combinations(study(tmp_path, both), "quick"))
    assert [each.levels["delay"] for each in found] == ["1ms", "2ms", "3ms"]
    assert [each.probe.count for each in found if each.probe] == [7, 8, 9]
    assert numbers_of([each.levels["delay"] for each in found]) is not None


@pytest.mark.parametrize(
    ("levels", "unit"),
    [
        (["1ms", "500us", "2s"], "ns"),
        (["0", "2", "10"], ""),
        (["64kB", "1MB", "3MB"], "B"),
        (["1kbit", "1Mbit", "1Gbit"], "bit/s"),
        (["1ms", "2ms"], None),
        (["1ms", "2ms", "fast"], None),
        (["1ms", "1000us", "3ms"], None),
        (["1ms", "2", "3"], None),
        (["nan", "1", "2"], None),
    ],
)
def test_levels_are_numbers_if_all_are_amounts_of_one_unit(
    levels: list[str], unit: str | None
) -> None:
    found = numbers_of(levels)
    assert (found.unit if found else None) == unit
    if found:
        assert [*found.values.values()] == sorted(found.values.values())


@given(st.sampled_from([Duration, Rate, Size]), st.integers(1, 10**12))
def test_an_amount_survives_its_text(kind: Any, value: int) -> None:
    unit = next(unit for unit, each in BASES.items() if each is kind)
    assert amount_of(str(text_of(Amount(value, unit)))) == Amount(value, unit)
