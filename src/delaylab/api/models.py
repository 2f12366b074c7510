"""Base and field types of models that read files."""

from __future__ import annotations

from delaylab.spec.base import NAME, Name, Names, Packages, Spec, spelled
from delaylab.spec.variants import Jobs, all_fields

__all__ = [
    "NAME",
    "Jobs",
    "Name",
    "Names",
    "Packages",
    "Spec",
    "all_fields",
    "spelled",
]
