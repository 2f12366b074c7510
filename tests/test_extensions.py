"""Additions of other packages: found as the standard library finds entry points."""

from __future__ import annotations

import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from delaylab import extensions
from delaylab.errors import BadInput, DelaylabError
from delaylab.extensions import Additions


@pytest.mark.parametrize("group", [*Additions, "console_scripts", "pytest11"])
def test_entry_points_are_those_that_the_standard_library_finds(group: str) -> None:
    found = sorted(set(extensions.entries(group)))
    assert found
    known = {(one.name, one.value.partition("[")[0].strip()) for one in entry_points(group=group)}
    assert found == sorted(known)


def installed(place: Path, name: str, text: str) -> None:
    (info := place / f"{name}-1.0.dist-info").mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(text)


def test_another_package_adds_a_file_format(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "[delaylab.other]\nmap = nobody\n[delaylab.schemas]\n# a map\nmap = mine:schema [x]\n"
    installed(tmp_path, "mine", text)
    (tmp_path / "mine.py").write_text("def schema():\n    return {'type': 'object'}\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert "map" in extensions.names(Additions.SCHEMAS)
    added = extensions.load(Additions.SCHEMAS, "map")
    assert callable(added)
    assert added() == {"type": "object"}
    assert extensions.load(Additions.SCHEMAS, "maps") is None


def test_one_name_of_two_packages_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(tmp_path, "mine", "[delaylab.verbs]\nshow = mine.verbs\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(BadInput, match="two additions are named 'show': mine"):
        extensions.load(Additions.VERBS, "run")


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("import nobody", "ModuleNotFoundError: No module named 'nobody'"),
        ("", "AttributeError: module 'mine' has no attribute 'schema'"),
    ],
)
def test_an_addition_that_cannot_be_loaded_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, why: str
) -> None:
    installed(tmp_path, "mine", "[delaylab.schemas]\nmap = mine:schema\n")
    (tmp_path / "mine.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    said = rf"^mine:schema: 'map' of another package cannot be loaded: {why} \(correct or"
    with pytest.raises(DelaylabError, match=said):
        extensions.load(Additions.SCHEMAS, "map")
    sys.modules.pop("mine", None)
