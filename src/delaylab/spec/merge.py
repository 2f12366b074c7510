"""Changes of conditions, named ones only: as the link engine makes them (`crates/link`)."""

from __future__ import annotations

from typing import Any

ALTERNATIVES = {
    "packets": ("bytes", "held"),
    "bytes": ("packets", "held"),
    "held": ("packets", "bytes", "discipline"),
    "discipline": ("held",),
}
"""A queue is limited in one of two ways, and at the sender in neither."""


def merge(asked: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """What is asked after changes: what they name is changed, None removes it, all else stays.

    Parts that mean nothing without each other change as one: a trace, and what carries another
    `model` or `kind` than before.
    """
    other = any(tag in changes and asked.get(tag) != changes[tag] for tag in ("model", "kind"))
    result = {} if other else dict(asked)
    for key, change in changes.items():
        if change is None:
            result.pop(key, None)
            continue
        for name in ALTERNATIVES.get(key, ()):
            result.pop(name, None)
        before = result.get(key) if key != "trace" else None
        if isinstance(change, dict):
            result[key] = merge(before if isinstance(before, dict) else {}, change)
        else:
            result[key] = change
    return result
