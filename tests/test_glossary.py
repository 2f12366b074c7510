"""The glossary explains every name that files, datasets and reports use."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest
from tools.schema_pages import MARK, current, fields, models, tables

from delaylab.analysis.packets import layers
from delaylab.dataset.records.doubts import DoubtKind
from delaylab.dataset.records.tables import MEANINGS, TABLES
from delaylab.kinds import KINDS
from delaylab.plan.points import SOCKET_POINTS
from delaylab.spec import ConditionsSpec, LabSpec, StudySpec
from delaylab.spec.lab import NodeKind
from delaylab.spec.link_conditions import Conditions

DOCS = Path(__file__).parent.parent / "docs"
GLOSSARY = (DOCS / "glossary.md").read_text()
NAMED = set(re.findall(r"`([^`\n]+)`", GLOSSARY))
BY_HAND = set(re.findall(r"`([^`\n]+)`", GLOSSARY.split(MARK)[0]))
TERMS = re.findall(r"^- \*\*(.+?)\*\*", GLOSSARY, re.M)


def test_terms_are_in_alphabetical_order_each_once() -> None:
    assert len(TERMS) >= 60
    assert [term.lower() for term in TERMS] == sorted({term.lower() for term in TERMS})


@pytest.mark.parametrize("page", tables())
def test_tables_made_from_the_models_are_current(page: str) -> None:
    assert (DOCS / page).read_text() == current(page), f"run `make docs`: docs/{page} is stale"


def test_every_field_of_a_file_is_explained() -> None:
    found = [
        (model.__name__, name, field.description)
        for model in models(LabSpec, StudySpec, without=Conditions)
        for name, field in fields(model)
    ]
    assert len(found) >= 100
    assert [each for each in found if each[1] not in NAMED or not each[2]] == []


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


def test_every_doubt_is_explained() -> None:
    assert {str(kind) for kind in DoubtKind} <= BY_HAND


def test_every_node_kind_is_explained() -> None:
    assert {*KINDS, *get_args(NodeKind)} <= BY_HAND


def test_every_point_is_explained() -> None:
    ways = [*layers._OUT.values(), *layers._IN.values()]
    points = {point for way in ways for point in way[::2]}
    assert points >= {*SOCKET_POINTS, "vif", "uplink", "wire", "dom0"}
    assert points | {"hopN.near", "hopN.far"} <= BY_HAND


def test_every_layer_is_explained() -> None:
    ways = [*layers._OUT.values(), *layers._IN.values()]
    names = {layer for way in ways for layer in way[1::2]} | set(layers.BY_ENGINE.values())
    names |= {layers.SLIP, layers.RESPONDER, layers.ROUTER, layers.WITH_CONDITIONS}
    assert names <= BY_HAND
