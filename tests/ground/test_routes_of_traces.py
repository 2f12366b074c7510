"""Traces of delays with routes, and the words of conditions that depend on time."""

from __future__ import annotations

from pathlib import Path

import pytest

from delaylab.errors import BadInput
from delaylab.spec.conditions.model import ConditionsSpec
from delaylab.spec.conditions.trace import TraceSpec, read_trace
from delaylab.spec.conditions.words import one_line


def trace(folder: Path, text: str) -> TraceSpec:
    (folder / "delays.csv").write_text(text)
    return TraceSpec.model_validate(read_trace(folder / "delays.csv"))


def test_a_third_column_is_the_route(tmp_path: Path) -> None:
    found = trace(tmp_path, "seconds,delay,route\n0,20ms,1\n0.5,5ms,2\n")
    assert found.routes == [1, 2]
    assert found.points == [(0, 20_000_000), (500_000_000, 5_000_000)]
    assert trace(tmp_path, "seconds,ms\n0,20\n").routes == []


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("seconds,rate,route\n0,1Mbit,1\n", "delays.csv:1: expected a header"),
        ("seconds,ms,path\n0,20,1\n", "delays.csv:1: expected a header"),
        ("seconds,ms,route\n0,20\n", "delays.csv:2: expected seconds,ms,route; got '0,20'"),
        ("seconds,ms,route\n0,20,-1\n", "delays.csv:2: expected a route's number"),
        ("seconds,ms,route\n0,20,4294967296\n", "delays.csv:2: expected a route's number"),
    ],
)
def test_a_bad_column_is_named_with_its_line(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(BadInput) as refused:
        trace(tmp_path, text)
    assert says in str(refused.value)


def test_half_lives_and_budgets_are_shown_as_they_are_given() -> None:
    given = ConditionsSpec.model_validate(
        {"jitter": {"spread": "2ms", "half_life": "50ms"}, "rate": {"limit": "1Mbit", "refills": 9}}
    )
    assert one_line(given.named()) == (
        "jitter={spread: 2ms, half_life: 50ms} rate={limit: 1Mbit, refills: 9}"
    )


def test_a_header_may_be_in_quotes(tmp_path: Path) -> None:
    quoted = trace(tmp_path, '"seconds","delay"\n"0","10ms"\n"1","20ms"\n')
    assert quoted == trace(tmp_path, "seconds,delay\n0,10ms\n1,20ms\n")
