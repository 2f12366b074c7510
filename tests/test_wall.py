"""The wall between laboratory, studies and papers: each is used by its door alone."""

from __future__ import annotations

import ast
import re
from collections import defaultdict

import pytest

from delaylab.extensions import Additions
from delaylab_study.papers.registry import GROUP
from tests.rooms import (
    PAPERS,
    SOURCE,
    STUDY,
    between,
    imported,
    imports,
    imports_of,
    modules,
    package_of,
)

DOOR = "delaylab.api"
"""The package by which studies use the laboratory."""
MEANING = {"analysis", "charts", "papers", "report"}
MEANING_MAY_USE = MEANING | {"study_file", "dataset"}
DOORS_OF_MEANING = {
    *(
        "additions",
        "errors",
        "progress",
        "files",
        "units",
        "documents",
        "points",
        "records",
        "verdicts",
    ),
    *(
        "models",
        "names",
        "lab",
        "kinds",
        "conditions",
        "timeline",
        "cpus",
        "forwarding",
        "drawing",
        "causes",
    ),
}
"""The laboratory's doors for rooms that need no machine, no agent and no running lab."""


def past_the_door(source: str, package: str) -> set[str]:
    """Return the modules of the laboratory that a source imports, but for those of its door."""
    return {
        target
        for target in imported(source, package)
        if target.split(".")[0] == "delaylab" and f"{target}.".find(f"{DOOR}.") != 0
    }


def test_studies_use_the_laboratory_by_its_door_alone() -> None:
    assert past_the_door("from delaylab.lab.running import LiveLab", "delaylab_study") != set()
    assert past_the_door("from delaylab import up", "delaylab_study") != set()
    assert past_the_door("from delaylab.api.lab import Lab", "delaylab_study") == set()
    found = {
        name: past
        for name, path in modules().items()
        if name.split(".")[0] == STUDY.name
        and (past := past_the_door(path.read_text(), package_of(name, path)))
    }
    assert found == {}


def test_the_laboratory_knows_no_studies() -> None:
    """Nor any paper: entry points bring what they add. Names of old are found for one release."""
    upward = {
        name: target
        for name, targets in imports().items()
        for target in targets
        if name.split(".")[0] == SOURCE.name and target.split(".")[0] == STUDY.name
    }
    assert upward == {}
    naming = [
        path
        for path in SOURCE.rglob("*.py")
        if re.search(r"delaylab_(study|papers)", path.read_text())
    ]
    assert {path.relative_to(SOURCE).as_posix() for path in naming} <= {
        "__init__.py",
        "api/loading.py",
    }


def test_no_room_of_the_laboratory_uses_its_door() -> None:
    users = {
        name
        for name, targets in imports().items()
        if any(target.startswith(f"{DOOR}.") for target in targets)
        and not name.startswith((DOOR, STUDY.name))
    }
    assert users <= {"delaylab"}


WITH_CODE = {f"{DOOR}.{name}" for name in ("labs", "loading", "maps", "pings")}
"""The modules that are what `import delaylab` has."""


def names_alone(source: str) -> set[str]:
    """Return the names that a module imports and lists; ValueError if it does anything else."""
    imported_names: set[str] = set()
    for node in ast.parse(source).body:
        match node:
            case ast.ImportFrom(module="__future__") | ast.Expr(value=ast.Constant()):
                continue
            case ast.ImportFrom(names=names):
                imported_names |= {each.asname or each.name for each in names}
            case ast.Assign(targets=[ast.Name(id="__all__")], value=ast.List() as listed):
                if set(ast.literal_eval(listed)) != imported_names:
                    raise ValueError("__all__ has other names than it imports")
            case _:
                raise ValueError(ast.unparse(node))
    return imported_names


def test_the_door_only_names_what_is_inside_and_studies_use_all_of_it() -> None:
    with pytest.raises(ValueError, match="def up"):
        names_alone("from a import b\n__all__ = ['b']\ndef up(): ...")
    used: dict[str, set[str]] = defaultdict(set)
    for path in STUDY.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith(f"{DOOR}."):
                used[str(node.module)] |= {each.name for each in node.names}
    doors = {name for name in modules() if name.startswith(f"{DOOR}.")} - WITH_CODE
    assert len(doors) > 20
    unused = {name: names_alone(modules()[name].read_text()) - used[name] for name in doors}
    assert {name: names for name, names in unused.items() if names} == {}


def test_papers_import_the_toolkit_and_their_neighbours_only() -> None:
    """As the papers of others do: no inside of delaylab, no other paper."""
    files = sorted(PAPERS.glob("*/**/*.py"))
    assert len(files) > 40
    for path in files:
        folders = len(path.relative_to(PAPERS).parts) - 1
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.level:
                assert node.level <= folders, f"{path}:{node.lineno} leaves the paper's folder"
            else:
                ours = {name for name in imports_of(node) if name.startswith("delaylab")}
                assert ours <= {"delaylab_study.papers.toolkit"}, path


def test_no_paper_is_built_in() -> None:
    assert not [path for path in SOURCE.rglob("*.py") if PAPERS.name in path.read_text()]
    papers = {path.parent.name for path in PAPERS.glob("*/paper.py")}
    names = "|".join(papers | {name.replace("_", "-") for name in papers})
    of_a_paper = re.compile(rf"[\"'./]({names})[\"'./]")
    assert not [path for path in SOURCE.rglob("*.py") if of_a_paper.search(path.read_text())]


@pytest.mark.parametrize("room", sorted(MEANING))
def test_meaning_never_imports_doing(room: str) -> None:
    assert {b for a, b in between(STUDY.name) if a == room} <= MEANING_MAY_USE
    doors = {
        target.split(".")[2]
        for name, targets in imports().items()
        if name.startswith(f"{STUDY.name}.{room}.")
        for target in targets
        if target.startswith(f"{DOOR}.")
    }
    assert doors <= DOORS_OF_MEANING


def test_nobody_names_record_and_replay() -> None:
    """Whoever works on delays never opens that room; entry points bring its verbs."""
    naming = {name for name, path in modules().items() if names_replaying(path.read_text())}
    assert {name for name in naming if not name.startswith("delaylab.replaying")} == set()
    assert names_replaying("from delaylab.replaying.record import read")
    assert names_replaying("from ..replaying import record")
    assert names_replaying('import_module("delaylab.replaying.verbs")')


def names_replaying(source: str) -> bool:
    """Return True if a source names the room of record and replay."""
    return re.search(r"\breplaying\b[. ]", source) is not None


def test_the_page_of_the_api_has_each_group_of_additions() -> None:
    page = (SOURCE.parents[1] / "docs" / "api.md").read_text()
    groups = re.findall(r"^\| `(delaylab\.\w+)` \|", page, re.MULTILINE)
    assert groups == [*map(str, Additions), GROUP]
