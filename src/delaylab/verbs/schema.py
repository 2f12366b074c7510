"""Verb `delaylab schema`: the JSON schema of a file format."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from delaylab import extensions
from delaylab.errors import BadInput
from delaylab.extensions import Additions
from delaylab.io.values import JsonObject
from delaylab.spec.lab import LabSpec
from delaylab.topology.generators import GENERATORS, Generator, Parameter

LAB = "lab"
TEXT: JsonObject = {"type": ["string", "number"]}
OF_LINKS: JsonObject = {
    "seed": {"type": "integer", "minimum": 0},
    "delay": TEXT,
    "rate": TEXT,
    "cost": {"enum": ["hops", "delay"]},
    "name": {"type": "string"},
}
"""The properties of a generated network beside the parameters of its shape."""


def schema(name: str) -> JsonObject:
    """Return the JSON schema (2020-12) of `lab` files, or of a format that another package adds.

    Raise BadInput for an unknown format.
    """
    if name == LAB:
        return with_dialect(LabSpec.model_json_schema(by_alias=True))
    added = extensions.load(Additions.SCHEMAS, name)
    if added is None:
        known = ", ".join([LAB, *extensions.names(Additions.SCHEMAS)])
        raise BadInput(f"no file format {name!r}", fix=f"one of {known}")
    return cast("Callable[[], JsonObject]", added)()


def with_dialect(found: JsonObject) -> JsonObject:
    """Return a JSON schema that names its dialect, as editors want it."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **found}


def generated() -> JsonObject:
    """Return the schema of a generated network: one shape with its parameters."""
    shapes = {name: _shape(generator) for name, generator in GENERATORS.items()}
    shape = {"minProperties": 1, "maxProperties": 1, **_object(shapes)}
    return {"required": ["generate"], **_object({"generate": shape})}


def _shape(generator: Generator) -> JsonObject:
    parameters = {each.name: _parameter(each) for each in generator.parameters}
    required = [each.name for each in generator.parameters if each.usual is None]
    return {"required": required, **_object({**parameters, **OF_LINKS})}


def _parameter(parameter: Parameter) -> JsonObject:
    kind = "number" if isinstance(parameter.low, float) else "integer"
    return {"type": kind, "minimum": parameter.low, "maximum": parameter.high}


def _object(properties: JsonObject) -> JsonObject:
    return {"type": "object", "properties": properties, "additionalProperties": False}
