"""Conditions of links."""

from __future__ import annotations

from delaylab.spec.conditions.engine import NOTHING, Conditions, check_configured
from delaylab.spec.conditions.words import one_line as conditions_in_words

__all__ = [
    "NOTHING",
    "Conditions",
    "check_configured",
    "conditions_in_words",
]
