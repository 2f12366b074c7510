"""Generator of what is made from models in docs: of lab and study files, datasets, the protocol."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from delaylab.spec.conditions.engine import Conditions
from delaylab_study.dataset.records.study import StudyRecord
from delaylab_study.dataset.records.tables import MEANINGS, NULLABLE, TABLES
from delaylab_study.dataset.records.trial import TrialRecord
from tools.field_tables import fields, models, row_of, table_of, type_words, word
from tools.file_pages import LAB_PAGE, STUDY_PAGE, file_page
from tools.protocol_page import messages

DOCS = Path(__file__).parent.parent / "docs"
FILES: dict[type[BaseModel], str] = {StudyRecord: "study.json", TrialRecord: "trial.json"}
MARK = "<!-- Made from the models by `make docs`; do not edit below this line. -->\n"
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


def _dataset() -> str:
    records = {model: _record(model) for model in models(*FILES, without=Conditions)}
    sections = [f"## `{file}`\n\n{records.pop(model)}" for model, file in FILES.items()]
    sections += [*_columns(), "## Parts of the records"]
    for model in sorted(records, key=word):
        sections.append(f"### {word(model)}\n\n{records[model]}")
    return "\n\n".join(sections)


def _record(model: type[BaseModel]) -> str:
    meaning = " ".join((model.__doc__ or "").split("\n\n", maxsplit=1)[0].split())
    rows = [
        row_of(
            f"`{name}`",
            type_words(field.annotation, linked=True),
            _unit(name, field),
            field.description or "",
        )
        for name, field in fields(model)
    ]
    return f"{meaning}\n\n{table_of(('field', 'type', 'unit', 'meaning'), rows)}"


def _columns() -> list[str]:
    sections = []
    for name, columns in TABLES.items():
        rows = [
            row_of(
                f"`{column}`",
                COLUMN_TYPES[str(kind())] + " or null" * (column in NULLABLE),
                _unit(column, None),
                MEANINGS[name][column],
            )
            for column, kind in columns.items()
        ]
        table = table_of(("column", "type", "unit", "meaning"), rows)
        sections.append(f"## `{name}.parquet`\n\n{table}")
    return sections


def _unit(name: str, field: FieldInfo | None) -> str:
    extra = field.json_schema_extra if field else None
    if isinstance(extra, dict):
        return str(extra["unit"])
    return next((unit for end, unit in UNITS if re.search(end, name)), "")


PAGES: dict[str, Callable[[], str]] = {
    LAB_PAGE: lambda: file_page(LAB_PAGE),
    STUDY_PAGE: lambda: file_page(STUDY_PAGE),
    "dataset.md": _dataset,
    "protocol.md": messages,
}
"""File names of pages -> their generated part."""


def current(name: str) -> str:
    """Return the page as it should be: its own words, then the tables."""
    words = (DOCS / name).read_text().split(MARK)[0]
    return f"{words}{MARK}\n{PAGES[name]()}\n"


def main() -> int:
    """Write the tables into the pages; with --check, name the stale pages and fail."""
    stale = [name for name in PAGES if (DOCS / name).read_text() != current(name)]
    for name in stale:
        if "--check" not in sys.argv:
            (DOCS / name).write_text(current(name))
        print(f"docs/{name}", "differs" if "--check" in sys.argv else "written")
    return int("--check" in sys.argv and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
