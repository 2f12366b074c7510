"""A section is a value: it is listed in each form, knows of none, and none knows of it."""

from __future__ import annotations

import ast
import pkgutil
import re
from importlib import import_module
from pathlib import Path
from typing import get_args

import pytest

from delaylab_study.report import (
    compared_sections,
    data,
    html,
    rich_parts,
    sections,
    templating,
    terminal,
    value,
    written,
)
from delaylab_study.report.sections.registry import PAGE, STUDY_JSON, TERMINAL, TRIAL_JSON
from delaylab_study.report.style import TEMPLATES

FORMS = {
    "section": dict.fromkeys((*TERMINAL, *PAGE)),
    "study_json": STUDY_JSON,
    "trial_json": TRIAL_JSON,
}
ROOM = "delaylab_study.report"
SHOWING = (
    *("rich", "jinja2", "markupsafe"),
    *(
        f"{ROOM}.{name}"
        for name in ("data", "html", "rich_parts", "show", "templating", "terminal")
    ),
)
"""Modules that show values."""
NAMES = {module.name for module in pkgutil.iter_modules(sections.__path__)}
MODULES = [import_module(f"{sections.__name__}.{n}") for n in NAMES - {"section", "registry"}]


@pytest.mark.parametrize("form", FORMS)
def test_every_section_is_listed_once_with_each_of_its_forms(form: str) -> None:
    listed = [function.__module__ for function in FORMS[form]]
    assert sorted(listed) == sorted(each.__name__ for each in MODULES if hasattr(each, form))


def imported(path: str | None) -> set[str]:
    """The modules that a file imports, each with the name that it takes from it."""
    assert path is not None
    found = set()
    for node in ast.walk(ast.parse(Path(path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert not node.level
            found |= {f"{node.module}.{each.name}" for each in node.names}
        elif isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
    return found


def below(names: set[str], rooms: tuple[str, ...]) -> list[str]:
    """Those of the names that are in one of the rooms."""
    return [each for each in names if any(f"{each}.".startswith(f"{room}.") for room in rooms)]


def test_sections_and_their_values_know_of_no_form() -> None:
    assert len(MODULES) > 20
    for module in (*MODULES, compared_sections, value):
        assert below(imported(module.__file__), SHOWING) == [], module.__name__
    assert below(imported(terminal.__file__), SHOWING)


def test_no_form_knows_of_a_section() -> None:
    all_of_them = tuple(module.__name__ for module in MODULES)
    for module in (data, html, rich_parts, templating, terminal, written):
        assert below(imported(module.__file__), all_of_them) == [], module.__name__
    assert below(imported(f"{sections.__path__[0]}/registry.py"), all_of_them)


def test_the_page_shows_every_part_and_each_tone_has_a_look() -> None:
    written = (TEMPLATES / "parts.html.j2").read_text(encoding="utf-8")
    kinds = {name for name, each in vars(value).items() if is_part(each)}
    assert len(kinds) >= 10
    assert kinds - {"Part", "OnPage", "Lazy"} == set(re.findall(r'(?<!\.)kind == "(\w+)"', written))
    assert {*rich_parts.STYLES, *templating.TAGS} == set(get_args(value.Tone))


def is_part(each: object) -> bool:
    return isinstance(each, type) and issubclass(each, value.Part)
