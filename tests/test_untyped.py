"""Untyped values stay where they are: at the edges, and fewer with time."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from tests.rooms import modules

UNTYPED = {
    "agent": 8,
    "analysis": 3,
    "charts": 74,
    "cli": 16,
    "dataset": 9,
    "images": 2,
    "io": 2,
    "kinds": 1,
    "lab": 1,
    "plan": 9,
    "resolve": 2,
    "spec": 37,
    "study": 1,
    "study_file": 28,
    "topology": 27,
    "units": 1,
    "verbs": 1,
    "work": 2,
}
"""The most uses of untyped values in each room, by any name. A number may only fall: lower it."""


def test_types_do_not_stop_half_way() -> None:
    """Untyped values stand where JSON or YAML is read, or a library wants them."""
    sources = {name: (path.read_text(), path) for name, path in modules().items()}
    found = Counter[str]()
    for name, count in untyped(sources).items():
        found[".".join(name.split(".")[1:2])] += count
    more = {room: n for room, n in found.items() if n > UNTYPED.get(room, 0)}
    assert more == {}, "uses of untyped values, and how many there may be"


def untyped(sources: Mapping[str, tuple[str, Path]]) -> dict[str, int]:
    """Return how often each module uses `Any`, `dict[str, object]`, or another name of these."""
    trees = {name: ast.parse(text) for name, (text, _) in sources.items()}
    names = {name: {"Any"} for name in trees}
    while True:
        before = sum(map(len, names.values()))
        for name, tree in trees.items():
            for node in tree.body:
                if (alias := _alias(node)) and _uses(alias[1], names[name]):
                    names[name].add(alias[0])
            for each in ast.walk(tree):
                if isinstance(each, ast.ImportFrom) and not each.level:
                    theirs = names.get(each.module or "", set())
                    names[name] |= {a.asname or a.name for a in each.names if a.name in theirs}
        if sum(map(len, names.values())) == before:
            break
    return {name: _uses(tree, names[name]) for name, tree in trees.items()}


def _alias(node: ast.stmt) -> tuple[str, ast.expr] | None:
    """Return the name and the value of a module's assignment that may name a type."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            return name, value
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            return name, value
    return None


def _uses(tree: ast.AST, names: set[str]) -> int:
    return sum(
        (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in names)
        or (isinstance(node, ast.Subscript) and ast.unparse(node) == "dict[str, object]")
        for node in ast.walk(tree)
    )


def test_other_names_of_untyped_values_are_seen() -> None:
    here = Path()
    sources = {
        "delaylab.a": ("from typing import Any\nRow = dict[str, Any]\nRows = list[Row]\n", here),
        "delaylab.b": ("from delaylab.a import Rows as R\ndef f(x: R, y: int) -> R: ...\n", here),
        "delaylab.c": ("def f(x: dict[str, object], y: object) -> None: ...\n", here),
    }
    assert untyped(sources) == {"delaylab.a": 2, "delaylab.b": 2, "delaylab.c": 1}
