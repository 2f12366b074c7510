"""Nothing outside of machines/ asks whether a machine is this one: the interface answers for both.

The rooms below, which plan labs, know names of machines only.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.rooms import SOURCE, STUDY

NAMES_ONLY = {"machines", "spec", "plan"}
THIS_MACHINE = {"LOCAL", "LOCAL_MACHINE", "LocalMachine", "SshMachine"}


def questions(source: str) -> Iterator[int]:
    """Yield the lines on which a source asks which machine it has, however it asks."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Compare():
                asked = [node.left, *node.comparators]
            case ast.Call(func=ast.Name(id="isinstance" | "issubclass" | "type")):
                asked = node.args
            case ast.MatchClass():
                asked = [node.cls]
            case ast.MatchValue():
                asked = [node.value]
            case _:
                continue
        if any(_names(each) & THIS_MACHINE for each in asked):
            yield node.lineno


def _names(node: ast.AST) -> set[str]:
    """Return the names that are compared; a default among them is no question."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return {name}
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
            return {name for part in parts for name in _names(part)}
    return set()


@pytest.mark.parametrize(
    "source",
    [
        "x = 1 if machine is LOCAL else 2",
        "if machine.name != LOCAL_MACHINE: pass",
        "if this_machine.LOCAL_MACHINE == machine.name: pass",
        "others = [each for each in machines if isinstance(each, SshMachine)]",
        "here = isinstance(machine, (LocalMachine, int))",
        "match machine:\n    case SshMachine(): pass",
    ],
)
def test_a_question_is_seen_however_it_is_asked(source: str) -> None:
    assert [*questions(source)]


def test_use_of_this_machine_is_no_question() -> None:
    assert not [*questions("session = LOCAL.session() if given is None else given")]
    assert not [*questions("same = machines.get(host, LOCAL_MACHINE) == machine")]


def test_nothing_outside_asks_whether_a_machine_is_this_one() -> None:
    files = [
        path
        for package in (SOURCE, STUDY)
        for path in package.rglob("*.py")
        if path.relative_to(package).parts[0] not in NAMES_ONLY
    ]
    assert len(files) > 500
    asking = [f"{path}:{line}" for path in files for line in questions(path.read_text())]
    assert asking == []
