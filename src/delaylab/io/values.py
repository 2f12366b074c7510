"""Types of JSON values that are written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

Json: TypeAlias = "Mapping[str, Json] | Sequence[Json] | str | int | float | bool | None"
"""A value that `json.dumps` takes."""
JsonObject: TypeAlias = Mapping[str, Json]
"""A JSON object that is read-only."""
