"""The papers of this project have no rights that other papers lack."""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path

import pytest

from delaylab_study.papers import registry
from delaylab_study.papers.loading import given
from delaylab_study.papers.registry import GROUP, folder, installed
from tests.papers.cases import ROOT

DECLARED = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"][GROUP]


def test_they_are_installed_by_entry_points() -> None:
    """An editable install knows those of the time when it was made: run `make setup`."""
    found = {entry.name: entry.value for entry in installed().values()}
    assert found.items() >= DECLARED.items()
    own = {path.parent for path in (ROOT / "src" / "delaylab_papers").glob("*/paper.py")}
    assert own == {folder(installed()[name]) for name in DECLARED}


@pytest.mark.parametrize("name", DECLARED)
def test_a_copy_of_its_folder_is_a_paper(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is loaded from anywhere, where delaylab has no papers installed."""
    place = folder(installed()[name])
    assert place is not None
    shutil.copytree(place, tmp_path / "copy")
    whole = given(name)
    monkeypatch.setattr(registry, "entry_points", lambda group, things: {})
    copied = given(str(tmp_path / "copy"))
    assert copied.name == whole.name == name
    assert [claim.id for claim in copied.claims] == [claim.id for claim in whole.claims]
    assert copied is not whole
