"""Set-up installs what was reviewed: every package by its version and its hashes."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from delaylab.extras import EXTRAS

ROOT = Path(__file__).parents[2]
HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}")


def entries() -> list[str]:
    """The entries of requirements.txt, each on one line, without comments."""
    text = (ROOT / "requirements.txt").read_text().replace("\\\n", " ")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def pinned() -> dict[str, str]:
    """Name -> version."""
    return dict(entry.split(maxsplit=1)[0].split("==", 1) for entry in entries())


def asked() -> list[str]:
    """The requirements of the project: to run, for studies, to be developed, to be built."""
    told = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = told["project"]["optional-dependencies"]
    wanted = (*extras["study"], *extras["cluster"], *extras["package"], *extras["dev"])
    assert "delaylab[study,cluster,package]" in extras["dev"], "who develops has all"
    whole = [*told["project"]["dependencies"], *wanted, *told["build-system"]["requires"]]
    return [each for each in whole if not each.startswith("delaylab[")]


def test_packages_of_the_extra_are_those_that_labs_do_without() -> None:
    told = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    homes = packages_distributions()
    always = _names(told["dependencies"])
    for extra, packages in EXTRAS.items():
        named = _names(told["optional-dependencies"][extra]) - {"delaylab"}
        known = {canonicalize_name(homes[name][0]) for name in packages}
        # What a package of an extra brings is missing with it: dask comes with distributed.
        assert named <= known
        assert known - named <= {"dask"}
        assert not known & always


def _names(texts: list[str]) -> set[str]:
    return {canonicalize_name(Requirement(text).name) for text in texts}


@pytest.mark.parametrize("entry", entries(), ids=lambda entry: entry.split()[0])
def test_every_entry_is_one_version_with_hashes(entry: str) -> None:
    name, *hashes = entry.split()
    assert re.fullmatch(r"[a-z0-9-]+==[A-Za-z0-9.]+", name)
    assert hashes
    assert all(HASH.fullmatch(each) for each in hashes), "a hash, and nothing else"


@pytest.mark.parametrize("requirement", [Requirement(text) for text in asked()], ids=str)
def test_all_that_is_asked_for_is_pinned_within_its_range(requirement: Requirement) -> None:
    version = pinned()[canonicalize_name(requirement.name)]
    assert requirement.specifier.contains(version)


def test_set_up_takes_nothing_without_a_hash() -> None:
    script = (ROOT / "tools" / "setup.sh").read_text().replace("\\\n", " ")
    installs = [line for line in script.splitlines() if "pip install" in line]
    assert len(installs) == 2
    for line in installs:
        packages = "--require-hashes --only-binary :all:" in line
        itself = "--no-deps --no-build-isolation --editable ." in line
        assert packages != itself, line


def test_cargo_takes_nothing_but_what_is_locked() -> None:
    files = [ROOT / "Makefile", *(ROOT / "tools").iterdir()]
    text = "\n".join(path.read_text() for path in files if path.is_file())
    text = text.replace("\\\n", " ").replace('", "', " ")
    cargo = r"(?:\bcargo|\$\(CARGO_LINTED\))"
    calls = re.findall(rf"{cargo} (?:build|test|run|clippy|fetch|install|bench|rustc)\b.*", text)
    assert len(calls) >= 7
    assert not [call for call in calls if "--locked" not in call]
