"""A light install has no package of the extra `study`: labs import one only where they say why."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pytest

from delaylab.extras import PACKAGES
from tests.light import SMALL, light
from tests.rooms import STUDY, modules, package_of, targets_of

NEED_MORE = {
    "delaylab.drawing.stress",
    "delaylab.placement.exact",
    "delaylab.plan.routes.quick_costs",
}
"""Modules of labs that import packages of the extra `study`."""


def unguarded(source: str, package: str) -> set[str]:
    """Return the modules that a source imports outside of blocks that say who needs them."""

    def below(node: ast.AST) -> Iterator[str]:
        inside: Iterable[ast.AST] = ast.iter_child_nodes(node)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            inside = node.orelse
        if isinstance(node, ast.With) and GUARD.match(ast.unparse(node.items[0].context_expr)):
            inside = ()
        yield from targets_of(node, package)
        for each in inside:
            yield from below(each)

    return {*below(ast.parse(source))}


GUARD = re.compile(r"(extras\.)?needed\(")


def needing_more(imports_of: Mapping[str, set[str]]) -> set[str]:
    """Return the modules that cannot be imported without the packages of the extra `study`."""
    found: set[str] = set()
    while True:
        new = {
            name
            for name, targets in imports_of.items()
            if name not in found and any(_loaded(each) & (PACKAGES | found) for each in targets)
        }
        if not new:
            return found
        found |= new


def _loaded(module: str) -> set[str]:
    """Return a module with the packages that it is in, which are loaded before it."""
    parts = module.split(".")
    return {".".join(parts[:end]) for end in range(1, len(parts) + 1)}


def test_labs_import_packages_of_studies_only_where_they_say_what_needs_them() -> None:
    every = {
        name: unguarded(path.read_text(), package_of(name, path))
        for name, path in modules().items()
    }
    assert "delaylab_study.trial.frames" in needing_more(every)
    found = {each for each in needing_more(every) if each.split(".")[0] != STUDY.name}
    assert found == NEED_MORE


@pytest.mark.parametrize(
    ("source", "needs_more"),
    [
        ("import numpy as np", True),
        ("def later():\n    from scipy.optimize import milp", True),
        ("from delaylab.drawing import stress", True),
        ("import networkx", False),
        ("with needed('a star'):\n    import numpy as np", False),
        ("with extras.needed('a star'):\n    from delaylab.drawing import stress", False),
        ("with open('x'):\n    import numpy as np", True),
        ("if TYPE_CHECKING:\n    import polars as pl", False),
    ],
)
def test_an_import_of_such_a_package_is_seen(source: str, needs_more: bool) -> None:
    given = {"delaylab.drawing.stress": {"scipy.linalg"}, "a": unguarded(source, "delaylab")}
    assert ("a" in needing_more(given)) == needs_more


MATRIX = ",a,b,c\na,0,10,20\nb,10,0,15\nc,20,15,0\n"
FREE = """\
lab: free
place: auto
hosts: {x: {}, y: {}}
nodes: {a: {}, b: {}}
links: [{between: [a, b]}]
"""


@pytest.mark.parametrize(
    ("argv", "what"),
    [
        ("run quickstart", "`delaylab run`"),
        ("show x", "`delaylab show`"),
        ("compare x y", "`delaylab compare`"),
        ("place free.yaml --by exact", "`exact`, as a method of placement,"),
        ("import map.csv --as star --round-trip", "a star of a matrix"),
        ("graph lab.yaml --svg -", "a picture of a lab whose nodes have no place (`at`)"),
    ],
)
def test_what_needs_more_is_one_line(argv: str, what: str, tmp_path: Path) -> None:
    for name, text in (("map.csv", MATRIX), ("free.yaml", FREE), ("lab.yaml", SMALL)):
        (tmp_path / name).write_text(text)
    said = light(tmp_path, *argv.split(), code=3)
    assert said.startswith(f"delaylab: {what} needs the Python package ")
    assert said.endswith(", which is not installed (pip install 'delaylab[study]')\n")
    assert said.count("\n") == 1


def test_a_picture_needs_no_more_where_the_file_has_places(tmp_path: Path) -> None:
    placed = "nodes: {a: {at: {x: 0, y: 0}}, b: {at: {x: 1, y: 1}}}"
    (tmp_path / "lab.yaml").write_text(SMALL.replace("nodes: {a: {}, b: {}}", placed))
    assert light(tmp_path, "graph", "lab.yaml", "--svg", "-").startswith("<svg")


def test_maps_and_places_need_no_more(tmp_path: Path) -> None:
    (tmp_path / "map.csv").write_text(MATRIX)
    (tmp_path / "free.yaml").write_text(FREE)
    assert "delay: 7.5ms" in light(tmp_path, "import", "map.csv", "--as", "mesh", "--round-trip")
    assert "100% of the links' bandwidth" in light(tmp_path, "place", "free.yaml")
