"""Python's types of messages are those of the agent's schema, and so are the few by hand."""

from __future__ import annotations

from dataclasses import fields

import pytest
from pydantic import BaseModel
from tools.agent_protocol import Schema, protocol
from tools.engine_bounds import MODULE, bounds
from tools.message_types import FOLDER, GROUPS, NOT_FROM_PYTHON, modules
from tools.protocol_page import named

from delaylab.agent.events import Event
from delaylab.agent.failures import FailureKind
from delaylab.agent.link_reports import SentReport
from delaylab.plan.conditions.engine_links import Change
from delaylab.records.doubts import Doubt, DoubtKind
from delaylab.records.links import Direction, Late
from delaylab.records.taps import TapRecord
from delaylab.spec.conditions.engine import Conditions

KNOWN = protocol()
READ, WRITTEN = KNOWN["read"], KNOWN["written"]
BY_HAND: list[tuple[str, type[BaseModel], set[str]]] = [
    ("EngineReport", SentReport, {"host", "agent", "engine"}),
    ("DirectionReport", Direction, {"nodes", "underlay"}),
    ("Warning", Doubt, {"values"}),
    ("TapCounts", TapRecord, set()),
    ("Late", Late, set()),
]
"""Answers that are records of datasets, with the fields that this side adds."""


def test_modules_are_what_the_agent_s_schema_gives() -> None:
    for name, text in modules().items():
        assert text == (FOLDER / name).read_text(), f"{name}: run `make docs`"
    assert bounds() == MODULE.read_text(), "run `make docs`"


def test_no_two_messages_have_one_name() -> None:
    """The schema tells such by a number: `End2`."""
    names = READ.keys() | WRITTEN.keys()
    assert len(names) > 80
    assert [name for name in names if name[-1].isdigit()] == []


def test_each_request_is_in_one_module() -> None:
    listed = [op for _, ops in GROUPS.values() for op in ops]
    assert len(listed) == len(set(listed))
    assert set(listed) == {"build", *KNOWN["operations"]} - NOT_FROM_PYTHON


@pytest.mark.parametrize(("name", "kind", "added"), BY_HAND, ids=[name for name, *_ in BY_HAND])
def test_records_have_the_fields_of_answers(
    name: str, kind: type[BaseModel], added: set[str]
) -> None:
    here = {each.alias or name for name, each in kind.model_fields.items()}
    assert here - added == WRITTEN[name]["properties"].keys()


def test_conditions_have_the_fields_of_the_engine_s() -> None:
    assert Conditions.model_fields.keys() == READ["Conditions"]["properties"].keys()
    assert {each.name for each in fields(Change)} == READ["Change"]["properties"].keys()


def test_events_have_the_same_fields() -> None:
    events = named(KNOWN["event"], WRITTEN)["anyOf"]
    names = {name for each in events for name in each["properties"]}
    # What a machine sends on its serial line is for its monitor.
    assert names - {"read", "window"} == Event.model_fields.keys()


def test_kinds_of_doubts_and_failures_are_known_here() -> None:
    kinds = set(allowed(WRITTEN["WarningKind"]))
    assert kinds
    assert kinds <= set(DoubtKind)
    assert allowed(WRITTEN["FailureKind"]) == [each.value for each in FailureKind]


def allowed(schema: Schema) -> list[str]:
    """Return the values that a schema allows."""
    return [
        value
        for each in schema.get("oneOf", [schema])
        for value in each.get("enum", [each["const"]] if "const" in each else [])
    ]


def test_orders_are_those_that_sessions_send() -> None:
    orders = {name for each in named(KNOWN["order"], READ)["oneOf"] for name in each["properties"]}
    assert orders == {"stop", "go", "keep", "pause", "signal", "used", "window", "drops"}
