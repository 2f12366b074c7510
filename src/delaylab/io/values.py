"""Types of JSON values that are written, and the base of messages made of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import ClassVar, TypeAlias, cast

Json: TypeAlias = "Mapping[str, Json] | Sequence[Json] | str | int | float | bool | None"
"""A value that `json.dumps` takes."""
JsonObject: TypeAlias = Mapping[str, Json]
"""A JSON object that is read-only."""


@dataclass(frozen=True)
class Message:
    """The base of messages and their parts, whose fields are named as in the protocol.

    `wire_names` has the fields that are named otherwise there.
    """

    wire_names: ClassVar[Mapping[str, str]] = {}

    def message(self) -> JsonObject:
        """Return the fields as JSON values; those that are None are left out."""
        named = {field.name: getattr(self, field.name) for field in fields(self)}
        return {
            self.wire_names.get(name, name): _plain(value)
            for name, value in named.items()
            if value is not None
        }


def _plain(value: object) -> Json:
    if hasattr(value, "message"):
        return cast(JsonObject, value.message())
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    return cast(Json, value)
