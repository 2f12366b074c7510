"""Partial changes of conditions, merged as the link engine merges them (`crates/link`)."""

from __future__ import annotations

from typing import Any

ALTERNATIVES = {
    "packets": ("bytes", "held"),
    "bytes": ("packets", "held"),
    "held": ("packets", "bytes", "discipline"),
    "discipline": ("held",),
}
"""Fields of a queue that exclude each other: packets, bytes, or held by the sender."""


def merge(asked: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Return conditions after changes: named fields are set, None removes one, others stay.

    Parts that make sense only together are replaced as a whole: a trace, and a condition whose
    `model` or `kind` changes.
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
