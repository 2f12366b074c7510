"""Packages that a light install lacks: what needs one says so in one line."""

from __future__ import annotations

import importlib
import sys

import pytest

from delaylab.errors import NotHere
from delaylab.extras import EXTRA_OF, has, needed, require

LINE = "a star needs the Python package {}, which is not installed (pip install 'delaylab[{}]')"


@pytest.mark.parametrize("package", sorted(EXTRA_OF))
def test_a_package_that_is_not_there_is_one_line(
    package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(NotHere) as lacking, needed("a star"):
        importlib.import_module(f"{package}.inside")
    assert str(lacking.value) == LINE.format(package, EXTRA_OF[package])
    assert lacking.value.exit_code == 3


def test_what_is_there_is_imported_and_other_faults_are_not_hidden() -> None:
    with needed("a star"):
        found = importlib.import_module("numpy")
    assert found.__name__ == "numpy"
    with pytest.raises(ModuleNotFoundError), needed("a star"):
        importlib.import_module("delaylab.no_such_module")


def test_a_package_can_be_asked_for_before_anything_is_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert has("numpy")
    require("a star", "numpy", "scipy")
    monkeypatch.setattr("delaylab.extras.has", {"numpy": True, "scipy": False}.__getitem__)
    with pytest.raises(NotHere) as lacking:
        require("a star", "numpy", "scipy")
    assert str(lacking.value) == LINE.format("scipy", "study")


def test_a_package_without_its_finder_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "meta_path", [])
    monkeypatch.delitem(sys.modules, "altair", raising=False)
    assert not has("altair")
