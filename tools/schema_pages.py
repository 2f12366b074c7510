"""Generator of the tables of fields in docs/glossary.md and docs/dataset.md, from the models."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from delaylab.dataset.records.study import StudyRecord
from delaylab.dataset.records.tables import MEANINGS, NULLABLE, TABLES
from delaylab.dataset.records.trial import TrialRecord
from delaylab.spec import LabSpec, StudySpec
from delaylab.spec.base import FromFile
from delaylab.spec.link_conditions import Conditions
from delaylab.units import Quantity

DOCS = Path(__file__).parent.parent / "docs"
FILES: dict[type[BaseModel], str] = {StudyRecord: "study.json", TrialRecord: "trial.json"}
MARK = "<!-- Made from the models by `make docs`; do not edit below this line. -->\n"
PLAIN = {
    int: "integer",
    float: "number",
    str: "text",
    bool: "true or false",
    object: "any",
    Any: "any",
    NoneType: "null",
}
UNITS = (
    (r"(^|_)per_s$", "frames/s"),
    (r"_ns$", "ns"),
    (r"(^|_)bytes$", "bytes"),
    (r"(_s|^seconds)$", "s"),
)
"""Ends of field names -> the unit; a field's `unit` in its JSON schema comes first."""
COLUMN_TYPES = {
    "String": "text",
    "Categorical": "text",
    "Boolean": "true or false",
    "UInt16": "integer (u16)",
    "UInt32": "integer (u32)",
    "Int64": "integer (i64)",
    "Float64": "number (f64)",
}
MOST_NAMES = 12
"""The most allowed values that a table lists."""


def tables() -> dict[str, str]:
    """Return the generated part of each page by the page's file name."""
    return {"glossary.md": _fields_of_files(), "dataset.md": _dataset()}


def models(*roots: type[BaseModel], without: type[BaseModel]) -> Iterator[type[BaseModel]]:
    """Yield the models and all models in their fields, each once; `without` and its parts not."""
    waiting, seen = list(roots), {without}
    while waiting:
        model = waiting.pop(0)
        if model not in seen:
            seen.add(model)
            yield model
            own = sorted(model.model_fields, key=lambda name: name not in model.__annotations__)
            parts = [model.model_fields[name].annotation for name in own]
            waiting[:0] = [found for part in parts for found in _models_in(part)]


def fields(model: type[BaseModel]) -> Iterator[tuple[str, FieldInfo]]:
    """Yield the fields by their names in a file; those of a base that is listed itself are not."""
    inherited = {name for base in model.__bases__ for name in getattr(base, "model_fields", ())}
    hidden = inherited if model.__name__ == "LinkSpec" else set()
    for name, field in model.model_fields.items():
        if name not in hidden:
            yield field.alias or name, field


def _fields_of_files() -> str:
    rows = []
    for model in models(LabSpec, StudySpec, without=Conditions):
        for name, field in fields(model):
            value = _type(field.annotation)
            if FromFile in field.metadata:
                value = f"file, or {value}"
            cells = (f"`{name}`", _word(model), value, _default(field), field.description or "")
            rows.append(_row(*cells))
    return _table(("field", "of", "value", "left out", "meaning"), rows)


def _dataset() -> str:
    records = {model: _record(model) for model in models(*FILES, without=Conditions)}
    sections = [f"## `{file}`\n\n{records.pop(model)}" for model, file in FILES.items()]
    sections += [*_columns(), "## Parts of the records"]
    for model in sorted(records, key=_word):
        sections.append(f"### {_word(model)}\n\n{records[model]}")
    return "\n\n".join(sections)


def _record(model: type[BaseModel]) -> str:
    meaning = " ".join((model.__doc__ or "").split("\n\n", maxsplit=1)[0].split())
    rows = [
        _row(
            f"`{name}`",
            _type(field.annotation, linked=True),
            _unit(name, field),
            field.description or "",
        )
        for name, field in fields(model)
    ]
    return f"{meaning}\n\n{_table(('field', 'type', 'unit', 'meaning'), rows)}"


def _columns() -> list[str]:
    sections = []
    for name, columns in TABLES.items():
        rows = [
            _row(
                f"`{column}`",
                COLUMN_TYPES[str(kind())] + " or null" * (column in NULLABLE),
                _unit(column, None),
                MEANINGS[name][column],
            )
            for column, kind in columns.items()
        ]
        table = _table(("column", "type", "unit", "meaning"), rows)
        sections.append(f"## `{name}.parquet`\n\n{table}")
    return sections


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in get_args(annotation) for model in _models_in(part)]


def _type(annotation: Any, *, linked: bool = False) -> str:
    """Return a type in words; with `linked`, models are links and null is named."""
    origin, inner = get_origin(annotation), get_args(annotation)
    parts = [_type(part, linked=linked) for part in inner] if origin is not Literal else []
    match origin:
        case _ if origin is Annotated:
            words = parts[0]
        case _ if origin in (Union, UnionType):
            words = _either(parts, linked=linked)
        case _ if origin is Literal:
            words = ", ".join(f"`{each}`" for each in inner) if len(inner) <= MOST_NAMES else "name"
        case _ if origin is dict:
            words = (
                "mapping" if {"any", "mapping"} & set(parts[1].split()) else f"{parts[1]}, by name"
            )
        case _ if origin is tuple and inner[-1] is not Ellipsis:
            words = f"pair of {parts[0]}"
        case _ if origin in (list, tuple):
            words = f"list of {parts[0]}"
        case _:
            words = _plain(annotation, linked=linked)
    return words


def _either(parts: list[str], *, linked: bool) -> str:
    words = [part for part in dict.fromkeys(parts) if part != "null"]
    if "number" in words and "integer" in words:
        words.remove("integer")
    return " or ".join([*words, "null"] if linked and "null" in parts else words)


def _plain(annotation: Any, *, linked: bool) -> str:
    if isinstance(annotation, type) and issubclass(annotation, Quantity):
        return f"{annotation.NAME or annotation.__name__.lower()}, as `{annotation.EXAMPLE}`"
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return _link(annotation) if linked else _word(annotation)
    return PLAIN.get(annotation, "text")


def _link(model: type[BaseModel]) -> str:
    if model is Conditions:
        return "[conditions](protocol.md)"
    return f"[{_word(model)}](#{_word(model).replace(' ', '-')})"


def _word(model: type[BaseModel]) -> str:
    """Return a model's name as words: `GilbertElliottSpec` is `gilbert elliott`."""
    name = model.__name__.removesuffix("Spec").removesuffix("Record")
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    if isinstance(value, BaseModel):
        value = next(iter(value.model_dump(exclude_unset=True).values()))
    if value is None or value in ("", [], {}):
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return f"`{value}`"


def _unit(name: str, field: FieldInfo | None) -> str:
    extra = field.json_schema_extra if field else None
    if isinstance(extra, dict):
        return str(extra["unit"])
    return next((unit for end, unit in UNITS if re.search(end, name)), "")


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _table(head: tuple[str, ...], rows: list[str]) -> str:
    return "\n".join([_row(*head), "|" + "---|" * len(head), *rows]).replace("|  |", "| |")


def current(name: str) -> str:
    """Return the page as it should be: its own words, then the tables."""
    words = (DOCS / name).read_text().split(MARK)[0]
    return f"{words}{MARK}\n{tables()[name]}\n"


def main() -> int:
    """Write the tables into the pages; with --check, name the stale pages and fail."""
    stale = [name for name in tables() if (DOCS / name).read_text() != current(name)]
    for name in stale:
        if "--check" not in sys.argv:
            (DOCS / name).write_text(current(name))
        print(f"docs/{name}", "differs" if "--check" in sys.argv else "written")
    return int("--check" in sys.argv and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
