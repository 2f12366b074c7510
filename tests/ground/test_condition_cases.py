"""Conditions mean the same here and in the link engine, which is tested with the same cases."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from delaylab.errors import BadInput
from delaylab.resolve.load import lab_from
from delaylab.spec.conditions.check import why_not_in_kernel
from delaylab.spec.conditions.directions import conditions_of
from delaylab.spec.conditions.engine import Conditions, EngineForm
from delaylab.spec.conditions.merge import merge
from delaylab.spec.source import parse
from tests.plain import plain

FOLDER = Path(__file__).parents[2] / "crates" / "link" / "tests" / "cases"
KEYS = {"name", "conditions", "accepted", "kernel", "file", "together", "full", "changes"}


@cache
def cases() -> list[dict[str, Any]]:
    """Return the cases of all files."""
    return [case for path in sorted(FOLDER.glob("*.json")) for case in json.loads(path.read_text())]


def those(*keys: str, accepted: bool | None = None) -> list[Any]:
    """Return the cases that have these keys, as parameters of a test."""
    return [
        pytest.param(case, id=case["name"])
        for case in cases()
        if case.keys() >= set(keys) and accepted in {None, case["accepted"]}
    ]


def read(said: dict[str, Any], engine: str = "own") -> dict[str, Any]:
    """Return the conditions that a lab file asks with these words, in the engine's form."""
    lab = {
        "lab": "x",
        "nodes": {"a": {}, "b": {}},
        "engine": engine,
        "links": [{"between": ["a", "b"], **said}],
    }
    made = lab_from(parse(yaml.safe_dump(lab), "lab.yaml"))
    return dict(plain(conditions_of(made.written.links[0], "a").message()))


def refused(said: dict[str, Any], engine: str = "own") -> None:
    """Check that a lab file with these words is refused, with its line."""
    with pytest.raises(BadInput, match=r"\Alab\.yaml:[0-9]+: .*\Z"):
        read(said, engine)


def in_full(part: EngineForm) -> dict[str, Any]:
    """Return the values of a part, those that are not named by their defaults."""
    values = {name: value for name, value in part if value is not None}
    return {
        name: in_full(value) if isinstance(value, EngineForm) else value
        for name, value in values.items()
    }


def test_cases_say_what_they_can() -> None:
    names = [case["name"] for case in cases()]
    assert len(names) == len(set(names)) > 0
    for case in cases():
        assert case.keys() <= KEYS, case["name"]
        assert case["accepted"] == ("kernel" in case), case["name"]
        assert "file" in case or "together" not in case, case["name"]


@pytest.mark.parametrize("case", those(accepted=True))
def test_what_the_engine_accepts_can_be_read(case: dict[str, Any]) -> None:
    found = Conditions.model_validate(case["conditions"])
    assert plain(found.message()) == case["conditions"]


@pytest.mark.parametrize(
    "case", [one for one in those(accepted=False) if "together" not in one.values[0]]
)
def test_values_that_the_engine_refuses_are_refused(case: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Conditions.model_validate(case["conditions"])


@pytest.mark.parametrize("case", those("kernel"))
def test_what_the_kernel_engine_refuses_is_known(case: dict[str, Any]) -> None:
    reason = why_not_in_kernel(Conditions.model_validate(case["conditions"]))
    assert (reason is None) == case["kernel"], reason


@pytest.mark.parametrize("case", those("file", accepted=True))
def test_a_lab_file_can_ask_what_the_engine_accepts(case: dict[str, Any]) -> None:
    assert read(case["file"]) == case["conditions"]
    if case["kernel"]:
        assert read(case["file"], "kernel") == case["conditions"]
    else:
        refused(case["file"], "kernel")


@pytest.mark.parametrize("case", those("file", accepted=False))
def test_a_lab_file_with_what_the_engine_refuses_is_refused(case: dict[str, Any]) -> None:
    refused(case["file"])


@pytest.mark.parametrize("case", those("full"))
def test_parts_left_out_have_the_engine_s_defaults(case: dict[str, Any]) -> None:
    assert in_full(Conditions.model_validate(case["conditions"])) == case["full"]


@pytest.mark.parametrize("case", those("changes"))
def test_changes_have_the_engine_s_result(case: dict[str, Any]) -> None:
    before = Conditions.model_validate(case["conditions"])
    for change in case["changes"]:
        after = merge(before, Conditions.model_validate(change["set"]))
        assert plain(after.message()) == change["result"], change["set"]
