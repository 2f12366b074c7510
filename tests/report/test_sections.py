"""Every section of a report is listed with each of its forms, and has a template for the page."""

from __future__ import annotations

import pkgutil
from importlib import import_module

import pytest

from delaylab.report import sections
from delaylab.report.sections.registry import PAGE, STUDY_JSON, TERMINAL, TRIAL_JSON
from delaylab.report.style import TEMPLATES

FORMS = {
    "terminal": TERMINAL,
    "html": PAGE,
    "study_json": STUDY_JSON,
    "trial_json": TRIAL_JSON,
}
NAMES = {module.name for module in pkgutil.iter_modules(sections.__path__)}
MODULES = [import_module(f"{sections.__name__}.{n}") for n in NAMES - {"section", "registry"}]


@pytest.mark.parametrize("form", FORMS)
def test_every_section_is_listed_once_with_each_of_its_forms(form: str) -> None:
    listed = [section.__name__ for section in FORMS[form] if hasattr(section, "__name__")]
    assert sorted(listed) == sorted(each.__name__ for each in MODULES if hasattr(each, form))


def test_every_section_of_the_page_has_its_template_and_no_other_is_there() -> None:
    written = {path.name.partition(".")[0] for path in (TEMPLATES / "sections").iterdir()}
    assert written == {section.__name__.rpartition(".")[2] for section in PAGE}
