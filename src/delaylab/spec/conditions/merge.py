"""Partial changes of conditions, merged as the link engine merges them (`crates/link`).

A plan is made, and its timeline checked, before there is an engine; a running engine merges by
itself (`configured.rs`), so that two changes at once do not undo each other. The cases in
`crates/link/tests/cases` hold both to the same results, and `tests/packets/test_protocol.py` makes
random changes by both.
"""

from __future__ import annotations

from delaylab.spec.conditions.engine import Conditions, EngineForm, Model, Queue, made_of

ALTERNATIVES = {
    "packets": ("bytes", "held"),
    "bytes": ("packets", "held"),
    "held": ("packets", "bytes", "discipline"),
    "discipline": ("held",),
}
"""Fields of a queue that exclude each other: packets, bytes, or held by the sender."""


def merge(conditions: Conditions, changes: Conditions) -> Conditions:
    """Return conditions after changes: named fields are set, None removes one, others stay.

    Parts that make sense only together are replaced as a whole: a trace, and a condition whose
    model or kind changes.
    """
    return _merged(conditions, changes)


def merge_changes(first: Conditions, second: Conditions) -> Conditions:
    """Return two changes as one; fields that the second removes stay removed."""
    removed = {name: None for name, value in second.named.items() if value is None}
    return made_of(Conditions, {**merge(first, second).named, **removed})


def without(conditions: Conditions, names: set[str]) -> Conditions:
    """Return the conditions without some of their fields."""
    return made_of(Conditions, {k: v for k, v in conditions.named.items() if k not in names})


def _merged(before: Model, changes: Model) -> Model:
    values = before.named
    for name, change in changes.named.items():
        if change is None:
            values.pop(name, None)
            continue
        for other in ALTERNATIVES.get(name, ()) if isinstance(changes, Queue) else ():
            values.pop(other, None)
        values[name] = change if name == "trace" else _part(values.get(name), change)
    return made_of(type(changes), values)


def _part(before: object, change: object) -> object:
    """Return one field after a change: merged if both are parts of the same type."""
    if (
        isinstance(change, EngineForm)
        and isinstance(before, EngineForm)
        and type(before) is type(change)
    ):
        return _merged(before, change)
    return change
