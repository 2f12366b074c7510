"""Changes that a level makes to loads which other levels define: `loads.frames.size: 1450`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from delaylab.spec.source import Document, Location
from delaylab.spec.study import LOADS, LoadSpec

LOADS_ROOT = "loads"


@dataclass(frozen=True)
class LoadChange:
    """A new value for one field of all loads of one kind, and its place in the study file."""

    kind: str
    field: str
    value: Any
    at: Location


def load_change(path: str, value: Any, document: Document, at: Location) -> LoadChange:
    """Read `loads.KIND.FIELD`; raise BadInput if there is no such kind or field."""
    _, kind, field = (*path.split(".", 2), "", "")[:3]
    if kind not in LOADS or field not in LoadSpec.model_fields:
        raise document.refuse(
            f"{path!r} leads to nothing", at, f"loads.KIND.FIELD, of {', '.join(LOADS)}"
        )
    return LoadChange(kind, field, value, at)


def changed(
    loads: Iterable[LoadSpec], changes: Iterable[LoadChange], document: Document
) -> list[LoadSpec]:
    """Return the loads with all changes made; raise BadInput if a changed load is invalid."""
    found = list(loads)
    for change in changes:
        found = [_changed(load, change, document) for load in found]
    return found


def _changed(load: LoadSpec, change: LoadChange, document: Document) -> LoadSpec:
    if load.what != change.kind:
        return load
    said = {**load.model_dump(exclude_unset=True), change.field: change.value}
    try:
        return LoadSpec.model_validate(said)
    except ValidationError as error:
        why = str(error.errors()[0]["msg"]).removeprefix("Value error, ")
        raise document.refuse(f"{change.field}: {why}", change.at) from None
