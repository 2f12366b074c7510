"""The version stands in one place, and the first section of the CHANGELOG is about it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import yaml

from delaylab.version import VERSION

ROOT = Path(__file__).parent.parent


def test_python_and_rust_have_the_version_of_the_workspace() -> None:
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]
    assert workspace["package"]["version"] == VERSION, "run `make setup`"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert "version" not in project
    assert project["dynamic"] == ["version"]
    for path in (ROOT / "crates").glob("*/Cargo.toml"):
        package = tomllib.loads(path.read_text())["package"]
        assert package["version"] == {"workspace": True}, path


def test_the_citation_names_this_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == VERSION
    assert citation["license"] == "Apache-2.0"


def test_the_changelog_has_a_section_for_each_release() -> None:
    sections = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(), re.M)
    released = [section for section in sections if section != "Unreleased"]
    assert released[0] == VERSION
    assert len(released) == len(set(released))
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", section) for section in released)
