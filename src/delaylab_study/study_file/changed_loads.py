"""Loads of levels that also change something else.

A level has loads of its own (`loads: [...]`), or changes those of others:
`loads.frames.size: 1450`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pydantic import ValidationError

from delaylab.api.documents import Document, Location, reason
from delaylab.api.models import all_fields
from delaylab_study.study_file.loads import LOADS, LoadSpec

LOADS_ROOT = "loads"


@dataclass(frozen=True)
class LoadChange:
    """A new value for one field of all loads of one kind, and its place in the study file."""

    kind: str
    field: str
    value: object
    at: Location


def loads_of(value: object, document: Document, at: Location) -> list[LoadSpec]:
    """Return a level's own loads, as `loads:` lists them; raise BadInput if one is invalid."""
    if not isinstance(value, list):
        raise document.refuse("`loads` is a list of loads", at, "loads: [{cpu: 2, on: NODE}]")
    return [
        _valid(each, document, (*at, index), f"{LOADS_ROOT} {index + 1}")
        for index, each in enumerate(value)
    ]


def load_change(path: str, value: object, document: Document, at: Location) -> LoadChange:
    """Read `loads.KIND.FIELD`; raise BadInput if there is no such kind or field."""
    _, kind, field = (*path.split(".", 2), "", "")[:3]
    if kind not in LOADS or field not in all_fields(LoadSpec):
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
    return _valid(said, document, change.at, change.field)


def _valid(said: object, document: Document, at: Location, name: str) -> LoadSpec:
    try:
        return LoadSpec.model_validate(said)
    except ValidationError as error:
        first = error.errors()[0]
        where = first["loc"][0] if first["loc"] else name
        raise document.refuse(f"{where}: {reason(first)}", at) from None
