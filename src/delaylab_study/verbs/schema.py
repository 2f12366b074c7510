"""The JSON schema of study files, for `delaylab schema study`."""

from __future__ import annotations

from delaylab.api.files import JsonObject
from delaylab.api.lab_files import schema_of_generated, with_dialect
from delaylab_study.study_file.model import StudySpec


def study() -> JsonObject:
    """Return the JSON schema (2020-12) of study files."""
    found = StudySpec.model_json_schema(by_alias=True)
    # A map becomes a plain lab before the model reads the file, so the model knows none.
    found["properties"]["lab"]["anyOf"].append(schema_of_generated())
    return with_dialect(found)
