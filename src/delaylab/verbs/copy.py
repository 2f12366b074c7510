"""Verb `delaylab cp`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from delaylab.errors import BadInput
from delaylab.lab import copies
from delaylab.lab.running import LiveLab

FORM = "delaylab cp [LAB] NODE:PATH DEST, or delaylab cp [LAB] SRC NODE:PATH"


@dataclass(frozen=True)
class Words:
    """The words of a copy: the lab's name, None if it is not given, and the two places."""

    lab: str | None
    source: str
    target: str

    @classmethod
    def of(cls, given: list[str]) -> Words:
        """Read the words; raise BadInput unless there are two or three."""
        match given:
            case [source, target]:
                return cls(None, source, target)
            case [lab, source, target]:
                return cls(lab, source, target)
        raise BadInput(f"{len(given)} words are given", fix=FORM)


def copy(lab: LiveLab, source: str, target: str) -> list[str]:
    """Copy a file or folder from a node or to one; return what was left out, in words.

    Raise BadInput unless exactly one of the two is `NODE:PATH`.
    """
    match _in_node(source), _in_node(target):
        case (node, path), None:
            return copies.fetch(lab, node, path, Path(target))
        case None, (node, path):
            return copies.send(lab, Path(source), node, path)
        case None, None:
            raise BadInput(f"neither {source!r} nor {target!r} is in a node", fix=FORM)
    raise BadInput(f"both {source!r} and {target!r} are in nodes", fix="copy by way of a file here")


def _in_node(word: str) -> tuple[str, str] | None:
    """Return the node and the path of `NODE:PATH`; None for a path of this machine."""
    found = re.fullmatch(r"([^/:]+):(.*)", word, re.DOTALL)
    return (found[1], found[2]) if found else None
