"""Verb `delaylab schema`: the JSON schema of a file format."""

from __future__ import annotations

from pydantic import BaseModel

from delaylab.io.values import JsonObject
from delaylab.spec.lab import LabSpec
from delaylab.spec.study import StudySpec

MODELS: dict[str, type[BaseModel]] = {"lab": LabSpec, "study": StudySpec}


def schema(name: str) -> JsonObject:
    """Return the JSON schema (2020-12) of `lab` or `study` files."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **MODELS[name].model_json_schema(by_alias=True),
    }
