"""Requests and answers have the same fields here as in the agent, which describes its own."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, get_args, get_origin

import pytest
from pydantic import BaseModel
from tools.protocol_page import Schema, named, protocol

from delaylab.agent import (
    link_requests,
    machine_requests,
    measuring_requests,
    observing_requests,
    program_requests,
    replies,
    requests,
)
from delaylab.agent.failures import FailureKind
from delaylab.agent.requests import Request
from delaylab.dataset.records.doubts import Doubt, DoubtKind
from delaylab.dataset.records.links import Direction
from delaylab.io import values
from delaylab.plan.conditions.engine_links import Change
from delaylab.plan.model import Plan
from delaylab.spec.programs import ReadySpec
from delaylab.spec.variants import Variants

KNOWN = protocol()
READ, WRITTEN = KNOWN["read"], KNOWN["written"]
MODULES = (
    requests,
    measuring_requests,
    observing_requests,
    link_requests,
    program_requests,
    machine_requests,
)
NOT_FROM_PYTHON = {"setup", "carrier"}
"""Requests that a monitor or a link engine sends."""
ADDED: dict[type, set[str]] = {
    link_requests.Report: {"host", "agent", "engine"},
    Direction: {"nodes", "underlay"},
    Doubt: {"values"},
}
"""Fields that this side adds to an answer."""
SAID = {"type", "enum", "const", "properties"}
"""Keys of a schema; one without any of them allows all values."""
WORDS = {
    int: {"integer"},
    float: {"number", "integer"},
    str: {"string"},
    bool: {"boolean"},
}


def operations() -> dict[str, type[Request[Any]]]:
    """Return the requests of this side by their operation."""
    found = (each for module in MODULES for each in vars(module).values())
    return {
        kind.op: kind
        for kind in found
        if isinstance(kind, type) and issubclass(kind, Request) and hasattr(kind, "op")
    }


@dataclass
class Comparison:
    """The differences between types of this side and schemas of the agent, each one line."""

    types: dict[str, Schema]
    differences: list[str] = field(default_factory=list)

    def compare(self, name: str, here: Any, there: Any) -> None:
        """Compare a type with a schema, and the types in it."""
        there = {} if there is True else named(there, self.types)
        kinds = [kind for kind in alternatives(here) if kind is not type(None)]
        for kind in kinds:
            self._compare_one(name, kind, list(branches(there, self.types)))

    def _compare_one(self, name: str, here: Any, there: list[Schema]) -> None:
        origin, inner = get_origin(here), get_args(here)
        if (isinstance(here, type) and issubclass(here, Plan)) or not any(
            each.keys() & SAID for each in there
        ):
            return  # what other tests compare, or any JSON
        if fields := fields_of(here):
            self._compare_fields(
                name, here, fields, [each for each in there if "properties" in each]
            )
        elif origin is typing.Literal:
            known = {value for each in there for value in each.get("enum", [each.get("const")])}
            self._note(name, set(inner) <= known, f"{set(inner)} are not {known}")
        elif origin is dict:
            (there_inner,) = [each.get("additionalProperties", True) for each in there] or [True]
            self.compare(f"{name}[]", inner[1], there_inner)
        elif origin is not None:
            listed = [each.get("items", True) for each in there if each.get("type") == "array"]
            self._note(name, bool(listed), "it is no list there")
            for items in listed:
                self.compare(f"{name}[]", inner[0], items)
        elif here in WORDS:
            kinds = {kind for each in there for kind in names_of(each)}
            self._note(name, kinds & WORDS[here] or not kinds, f"it is {kinds} there")

    def _compare_fields(
        self, name: str, here: type, fields: dict[str, Any], there: list[Schema]
    ) -> None:
        mine = fields.keys() - ADDED.get(here, set())
        same = [
            each
            for each in there
            if each["properties"].keys() == mine and has_tags(fields, each["properties"])
        ]
        theirs = [sorted(each["properties"]) for each in there]
        self._note(name, len(same) == 1, f"{sorted(mine)} are not {theirs}")
        for each in same:
            for inner in mine:
                self.compare(f"{name}.{inner}", fields[inner], each["properties"][inner])

    def _note(self, name: str, same: object, difference: str) -> None:
        if not same:
            self.differences.append(f"{name}: {difference}")


def has_tags(fields: dict[str, Any], properties: dict[str, Any]) -> bool:
    """Return True if the constants of a schema are those that a type allows."""
    tags = {name: each["const"] for name, each in properties.items() if "const" in each}
    return all(get_args(fields[name]) == (tag,) for name, tag in tags.items())


def alternatives(kind: Any) -> Iterator[Any]:
    """Yield the members of a union or of a family, without annotations."""
    origin = get_origin(kind)
    if origin is typing.Annotated:
        yield from alternatives(get_args(kind)[0])
    elif origin is typing.Union or type(kind).__name__ == "UnionType":
        for each in get_args(kind):
            yield from alternatives(each)
    elif isinstance(kind, type) and issubclass(kind, Variants):
        yield from kind.variants()
    else:
        yield kind


def branches(schema: Schema, types: dict[str, Schema]) -> Iterator[Schema]:
    """Yield the alternatives of a schema."""
    for each in schema.get("anyOf") or schema.get("oneOf") or [schema]:
        whole = named(each, types)
        yield from [whole] if whole is schema else branches(whole, types)


def names_of(schema: Schema) -> list[str]:
    """Return the JSON types of a schema."""
    kinds = schema.get("type", [])
    return kinds if isinstance(kinds, list) else [kinds]


def fields_of(kind: Any) -> dict[str, Any]:
    """Return the types of a model's or a dataclass's fields by their names in messages."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return {each.alias or name: each.annotation for name, each in kind.model_fields.items()}
    if dataclasses.is_dataclass(kind):
        names = {"source": "from"} if kind is measuring_requests.GeneratorFlow else {}
        given = {**vars(values), "Plan": Plan, "Change": Change, "ReadySpec": ReadySpec}
        hints = typing.get_type_hints(kind, localns=given)
        return {
            names.get(each.name, each.name): hints[each.name] for each in dataclasses.fields(kind)
        }
    return {}


def test_both_sides_have_the_same_operations() -> None:
    assert operations().keys() == {"build", *KNOWN["operations"]} - NOT_FROM_PYTHON


@pytest.mark.parametrize("operation", operations())
def test_requests_and_answers_have_the_same_fields(operation: str) -> None:
    kind = operations()[operation]
    about = KNOWN["build"] if operation == "build" else KNOWN["operations"][operation]
    asked, answered = Comparison(READ), Comparison(WRITTEN)
    request = dict(named(about["request"], READ))
    request["properties"] = {k: v for k, v in request.get("properties", {}).items() if k != "op"}
    if request["properties"] or dataclasses.fields(kind):
        asked.compare(operation, kind, request)
    assert asked.differences == []
    if fields_of(kind.reply):
        answered.compare(operation, kind.reply, about["done"])
    else:
        assert "properties" not in named(about["done"], WRITTEN)
    assert answered.differences == []


@pytest.mark.parametrize("operation", operations())
def test_what_a_request_may_leave_out_the_agent_does_not_need(operation: str) -> None:
    about = KNOWN["build"] if operation == "build" else KNOWN["operations"][operation]
    needed = set(named(about["request"], READ).get("required", [])) - {"op"}
    left_out = {
        each.name for each in dataclasses.fields(operations()[operation]) if each.default is None
    }
    assert not needed & left_out


def test_events_have_the_same_fields() -> None:
    events = named(KNOWN["event"], WRITTEN)["anyOf"]
    fields = {name for each in events for name in each["properties"]}
    # What a machine sends on its serial line is for its monitor.
    assert fields - {"read", "window"} == replies.Event.model_fields.keys()
    packet = Comparison(WRITTEN)
    packet.compare("packet", replies.LivePacket, WRITTEN["LivePacket"])
    assert packet.differences == []


def test_outcomes_and_warnings_of_the_agent_are_known_here() -> None:
    kinds = {each for part in branches(WRITTEN["WarningKind"], WRITTEN) for each in allowed(part)}
    assert kinds
    assert kinds <= set(DoubtKind)
    outcomes = {each for part in branches(WRITTEN["Outcome"], WRITTEN) for each in allowed(part)}
    assert outcomes == set(get_args(replies.LivePacket.model_fields["outcome"].annotation))


def test_kinds_of_failures_are_those_of_the_agent() -> None:
    kinds = [each for part in WRITTEN["FailureKind"]["oneOf"] for each in allowed(part)]
    assert kinds == [each.value for each in FailureKind]


def allowed(schema: Schema) -> list[str]:
    """Return the values that a schema allows."""
    listed: list[str] = schema.get("enum", [schema["const"]] if "const" in schema else [])
    return listed


def test_orders_are_those_that_sessions_send() -> None:
    orders = {name for each in named(KNOWN["order"], READ)["oneOf"] for name in each["properties"]}
    assert orders == {"stop", "go", "keep", "pause", "signal", "used"}


def test_a_field_that_differs_is_seen() -> None:
    """The control of the tests above."""
    kind = dict(WRITTEN["HelloDone"])
    kind["properties"] = {"version": {"type": "string"}, "pid": {"type": "string"}, "clock": {}}
    found = Comparison(WRITTEN)
    found.compare("hello", replies.Hello, kind)
    assert found.differences == ["hello.pid: it is {'string'} there"]
    found = Comparison(WRITTEN)
    found.compare("hello", replies.Hello, {**kind, "properties": {"version": {}}})
    assert found.differences == ["hello: ['clock', 'pid', 'version'] are not [['version']]"]
