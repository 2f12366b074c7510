"""The plain data of a containerlab topology: texts as the file has them, and merges written out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import yaml

from delaylab.spec.source import Document, Location

Tree: TypeAlias = str | Sequence["Tree"] | Mapping[str, "Tree"] | None
Fields: TypeAlias = Mapping[str, Tree]
NOTHING: Fields = {}


@dataclass(frozen=True)
class Said:
    """The value of a field, and the place in the file that says it."""

    value: Tree
    at: Location


def tree_of(document: Document, text: str) -> Tree:
    """Return a document's data with the text of each scalar: `1.10` and not 1.1, `yes`, not True.

    The document was made of the text, and so the text was checked.
    """
    return _with_texts(document.data, yaml.load(text, Loader=yaml.CBaseLoader))


def _with_texts(data: object, raw: object) -> Tree:
    if isinstance(data, dict) and isinstance(raw, dict):
        return _merged({key: _with_texts(value, raw.get(key)) for key, value in data.items()})
    if isinstance(data, list) and isinstance(raw, list):
        return [_with_texts(*pair) for pair in zip(data, raw, strict=True)]
    return None if data is None else str(raw)


def _merged(given: Fields) -> Fields:
    """Return a mapping with what it takes from others by `<<`; of those the first one counts."""
    others = given.get("<<")
    taken: Fields = {}
    for other in items(others) or [others]:
        taken = {**fields(other), **taken}
    return {**taken, **{key: value for key, value in given.items() if key != "<<"}}


def fields(tree: Tree) -> Fields:
    """Return a mapping; an empty one for anything else."""
    return tree if isinstance(tree, Mapping) else NOTHING


def is_text(tree: Tree) -> bool:
    """Return True for a text."""
    return isinstance(tree, str)


def is_mapping(tree: Tree) -> bool:
    """Return True for a mapping."""
    return isinstance(tree, Mapping)


def is_list(tree: Tree) -> bool:
    """Return True for a list."""
    return isinstance(tree, Sequence) and not isinstance(tree, str)


def items(tree: Tree) -> Sequence[Tree]:
    """Return the items of a list; () for anything else."""
    return tree if isinstance(tree, Sequence) and not isinstance(tree, str) else ()


def text(tree: Tree) -> str:
    """Return a text; "" for anything else."""
    return tree if isinstance(tree, str) else ""
