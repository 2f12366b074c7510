"""The public names of the package: present, documented, and loaded only when they are used."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from tools.api_page import PAGE, reference

import delaylab
import delaylab_study

ROOT = Path(__file__).parent.parent.parent
EXAMPLES = ROOT / "examples"
HEAVY = ("polars", "numpy", "scipy", "altair", "docker")


def loaded(statement: str, names: tuple[str, ...]) -> list[str]:
    """Which of these modules a statement loads."""
    script = f"import sys; {statement}; print(*(n for n in {names} if n in sys.modules))"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return ran.stdout.split()


PACKAGES = (delaylab, delaylab_study)
NAMES = [(package, name) for package in PACKAGES for name in package.__all__]


@pytest.mark.parametrize(("package", "name"), NAMES)
def test_every_public_name_is_there_and_says_what_it_is(package: ModuleType, name: str) -> None:
    assert getattr(package, name).__doc__
    assert name in dir(package)


@pytest.mark.parametrize("package", PACKAGES)
def test_another_name_is_an_attribute_error(package: ModuleType) -> None:
    with pytest.raises(AttributeError, match="no attribute 'downn'"):
        package.__getattr__("downn")


def test_names_of_studies_are_found_where_they_were_for_one_release() -> None:
    with pytest.warns(DeprecationWarning, match="delaylab_study.read"):
        assert delaylab.__getattr__("read") is delaylab_study.read


def test_the_page_has_every_name_with_its_signature() -> None:
    text = PAGE.read_text()
    assert reference() in text, "run `make docs`: docs/api.md is stale"
    for package, name in NAMES:
        assert f"### `{package.__name__}.{name}`\n" in text


@pytest.mark.parametrize("package", PACKAGES)
def test_the_package_is_typed(package: ModuleType) -> None:
    assert Path(str(package.__file__)).with_name("py.typed").exists()


@pytest.mark.parametrize("package", PACKAGES)
def test_importing_the_package_loads_nothing_else(package: ModuleType) -> None:
    others = ("typing", "dataclasses", "pydantic", *HEAVY)
    assert loaded(f"import {package.__name__}", others) == []


def test_labs_and_pings_load_no_tables() -> None:
    lab = f"delaylab.load({str(EXAMPLES / 'testbed.yaml')!r})"
    statement = f"import delaylab; delaylab.up({lab}); delaylab.ping; delaylab.RunningLab"
    assert loaded(statement, HEAVY) == []


def test_a_file_is_a_lab_or_a_study() -> None:
    lab = delaylab.load(EXAMPLES / "testbed.yaml")
    assert isinstance(lab, delaylab.Lab)
    assert list(lab.nodes) == ["probe", "noisy", "echo"]
    study = delaylab_study.load("quickstart")
    assert study.study.spec.study == "quickstart"
    mine = delaylab_study.load(EXAMPLES / "mypaper")
    assert mine.paper is not None
    assert mine.paper.name == "mypaper"


def test_a_lab_may_be_given_as_data() -> None:
    """It is resolved as that of a file, and an error says which part of the data it is about."""
    nodes = {"a": {}, "b": {"count": 2}}
    data: dict[str, object] = {"lab": "own", "nodes": nodes, "links": [{"between": ["a", "b"]}]}
    lab = delaylab.load(data)
    assert isinstance(lab, delaylab.Lab)
    assert list(lab.links) == ["a-b-1", "a-b-2"]
    with pytest.raises(delaylab.BadInput, match=r"the given data, nodes\.a\.kind: kind: expected"):
        delaylab.load({**data, "nodes": {"a": {"kind": "sparc"}, "b": {}}})


def test_a_study_is_not_brought_up_and_a_lab_not_run() -> None:
    study, lab = EXAMPLES / "mypaper" / "study.yaml", EXAMPLES / "testbed.yaml"
    with pytest.raises(delaylab.BadInput, match="a study, not a lab"), delaylab.up(study):
        pass
    for given in (lab, delaylab.load(lab)):
        with pytest.raises(delaylab.BadInput, match="a lab, not a study"):
            delaylab_study.run(given)


def test_invalid_files_and_options_are_refused(tmp_path: Path) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text("lab: x\nnods: {}\n")
    with pytest.raises(delaylab.BadInput, match=r"bad\.yaml:2: unknown field 'nods'"):
        delaylab.load(bad)
    with pytest.raises(delaylab.BadInput, match=r"nowhere\.yaml"):
        delaylab.load("nowhere.yaml")
    with pytest.raises(delaylab.BadInput, match=r"no study 'nowhere\.yaml'"):
        delaylab_study.load("nowhere.yaml")
    for options in ({"count": 0}, {"size": 8}, {"interval": "soon"}):
        with pytest.raises(delaylab.BadInput):
            delaylab.ping("127.0.0.1", **options)
