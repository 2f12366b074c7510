"""Verb `delaylab link set`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from delaylab.errors import BadInput
from delaylab.lab.links import link_changes
from delaylab.lab.running import LiveLab
from delaylab.records.links import EngineReport
from delaylab.spec.conditions.files import with_files
from delaylab.spec.conditions.model import ConditionsSpec
from delaylab.spec.source import Document, parse, validate
from delaylab.verbs.links import of_link

FORM = "delay=20ms loss=1% queue=100; CONDITION=none takes it away"


def words(given: list[str]) -> ConditionsSpec:
    """Read conditions from the command line (`delay=20ms`); raise BadInput if they are invalid.

    A value may be anything that a lab file allows, files included, in YAML on one line.
    """
    data: dict[str, object] = {}
    for word in given:
        name, equals, text = word.partition("=")
        if not equals or not text.strip():
            raise BadInput(f"{word!r} is not a condition", fix=f"write {FORM}")
        if name in data:
            raise BadInput(f"{name!r} is there twice", fix="say it once")
        data[name] = parse(text, word).data
    return checked(data)


def checked(given: Mapping[str, object]) -> ConditionsSpec:
    """Return conditions of values as in a lab file; raise BadInput if they are invalid."""
    document = Document("link set", dict(given), {}, Path.cwd())
    return validate(ConditionsSpec, with_files(document))


def change(
    lab: LiveLab, link: str, node: str | None, given: ConditionsSpec, *, to: str | None = None
) -> list[EngineReport]:
    """Change a link's conditions; return the engines' reports on this link afterwards.

    With `node` only what that node sends changes, with `to` what that node receives.
    """
    if node is not None and to is not None:
        raise BadInput(
            "a change is of what one node sends or of what one receives", fix="make two changes"
        )
    changed = link_changes.change(lab, link, to or node, given, receives=to is not None)
    return of_link(changed, link)
