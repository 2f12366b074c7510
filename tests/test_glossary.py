"""The glossary and the pages of files explain every name that files and datasets use."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import BaseModel, TypeAdapter
from tools import points_table
from tools.field_tables import fields, models
from tools.file_examples import EXAMPLES
from tools.file_pages import heading, parts
from tools.schema_pages import MARK, PAGES, current

from delaylab.points import CATALOGUE, IN, OUT, RESPONDER, on_way
from delaylab.records.doubts import DoubtKind
from delaylab.spec.conditions.engine import Conditions
from delaylab.spec.conditions.model import ConditionsSpec
from delaylab.spec.lab import LabSpec
from delaylab.spec.source import parse
from delaylab.spec.variants import all_fields
from delaylab_study.analysis.packets import layers
from delaylab_study.dataset.records.tables import MEANINGS, TABLES
from delaylab_study.study_file.model import StudySpec

DOCS = Path(__file__).parent.parent / "docs"
GLOSSARY = (DOCS / "glossary.md").read_text()
BY_HAND = set(re.findall(r"`([^`\n]+)`", GLOSSARY))
MODELS = [(page, model) for page, models in parts().items() for model in models]
TERMS = re.findall(r"^- \*\*(.+?)\*\*", GLOSSARY, re.M)


def test_terms_are_in_alphabetical_order_each_once() -> None:
    assert len(TERMS) >= 60
    assert [term.lower() for term in TERMS] == sorted({term.lower() for term in TERMS})


# The agent describes its own messages.
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=pytest.mark.agent) if page == "protocol.md" else page
        for page in PAGES
    ],
)
def test_tables_made_from_the_models_are_current(page: str) -> None:
    assert (DOCS / page).read_text() == current(page), f"run `make docs`: docs/{page} is stale"


def rows(page: str, title: str) -> dict[str, list[str]]:
    """Return the cells behind each field's name in the section of a page."""
    text = (DOCS / page).read_text().split(f"\n## {title}\n")[1].split("\n## ")[0]
    cells = [
        re.split(r" ?(?<!\\)\| ?", line)[1:-1] for line in text.splitlines() if line[:3] == "| `"
    ]
    return {name.strip("`"): others for name, *others in cells}


def test_every_field_of_a_file_is_explained() -> None:
    assert {model for _, model in MODELS} == set(models(LabSpec, StudySpec, without=Conditions))
    found = 0
    for page, model in MODELS:
        shown = rows(page, heading(model))
        assert list(shown) == [name for name, _ in fields(model)], model
        for name, field in fields(model):
            value, _, meaning = shown[name]
            assert value, f"{model.__name__}.{name}"
            assert field.description, f"{model.__name__}.{name}"
            assert meaning == field.description.replace("|", "\\|")
            found += 1
    assert found >= 100


def test_the_glossary_leads_to_the_fields() -> None:
    section = GLOSSARY.split("\n## Fields of files\n")[1]
    for page in parts():
        assert f"]({page})" in section
    assert MARK not in GLOSSARY


def test_defaults_are_written_as_a_user_writes_them() -> None:
    assert rows("study-file.md", "Probe")["interval"][1] == "`5ms`"
    assert rows("study-file.md", "Load")["lost"][1] == "`0.05%`"
    assert rows("lab-file.md", "Engine")["memory"][1] == "`256MiB`"
    assert rows("lab-file.md", "Lab")["engine"][1] == "`auto`"
    assert rows("lab-file.md", "Node")["vcpus"][0] == "integer, 1 to 64"
    for page, model in MODELS:
        for name, field in fields(model):
            default = rows(page, heading(model))[name][1]
            written = re.fullmatch(r"`(.*)`|true|false", default)
            assert (default in ("", "required")) or written, f"{model.__name__}.{name}: {default}"
            if written and not field.is_required():
                given = field.get_default(call_default_factory=True)
                kind: TypeAdapter[object] = TypeAdapter(field.rebuild_annotation())
                text = f"it: {written[1] or written[0]}"
                read = kind.validate_python(parse(text, page).data["it"])
                assert read == given, f"{model.__name__}.{name}: {default}"


def parts_named(tree: object, names: set[str]) -> Iterator[dict[str, object]]:
    """Yield the outermost mappings of a YAML document whose keys are all among the names."""
    if isinstance(tree, dict) and tree and tree.keys() <= names:
        yield tree
        return
    for part in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        yield from parts_named(part, names)


@pytest.mark.parametrize(("page", "model"), MODELS)
def test_the_example_of_a_part_is_one(page: str, model: type[BaseModel]) -> None:
    names = {field.alias or name for name, field in all_fields(model).items()}
    (example,) = re.findall(
        rf"^## {heading(model)}\n(?:(?!^## ).)*?^```yaml\n(.*?)^```",
        (DOCS / page).read_text(),
        re.MULTILINE | re.DOTALL,
    )
    assert example == EXAMPLES[model]
    own = list(parts_named(parse(example, page).data, names))
    assert own
    for tree in own:
        model.model_validate(tree)


def test_descriptions_are_sentences() -> None:
    for model in models(LabSpec, StudySpec, without=Conditions):
        for name, field in fields(model):
            text = field.description or ""
            assert re.fullmatch(r"[A-Z`].*\.", text), f"{model.__name__}.{name}: {text}"


def test_every_condition_has_an_entry() -> None:
    assert ConditionsSpec.model_fields.keys() <= BY_HAND


def test_every_column_of_a_dataset_is_explained() -> None:
    assert {column for table in TABLES.values() for column in table} <= BY_HAND
    assert {name: set(table) for name, table in TABLES.items()} == {
        name: set(table) for name, table in MEANINGS.items()
    }


def test_every_doubt_has_its_row() -> None:
    """In the table below the heading: a name alone may be that of a field.

    The method says from which limits on the analysis doubts data.
    """
    kinds = [str(kind) for kind in DoubtKind]
    of_analysis = kinds[kinds.index(DoubtKind.CONDITIONS_CHANGED) + 1 :]
    for page, asked in (("glossary", kinds), ("method", of_analysis)):
        text = (DOCS / f"{page}.md").read_text().partition("\n## Doubts\n")[2]
        rows = re.findall(r"^\| (.*?) \|", text.partition("\n## ")[0], re.MULTILINE)
        named = {name for row in rows for name in re.findall(r"[a-z][a-z-]+", row)}
        assert set(asked) - named == set(), page


def test_every_point_is_explained() -> None:
    assert points_table.table() in GLOSSARY, "run `make docs`: the table of points is stale"
    ways = [*OUT.values(), *IN.values()]
    on_ways = {point for way in ways for point in on_way(way)}
    assert on_ways == {each.name for each in CATALOGUE} - {"near", "far"}


def test_every_layer_is_explained() -> None:
    ways = [*OUT.values(), *IN.values()]
    names = {layer for way in ways for layer in way[1::2]} | set(layers.BY_ENGINE.values())
    names |= {layers.SLIP, RESPONDER, layers.ROUTER, layers.WITH_CONDITIONS}
    assert names <= BY_HAND
