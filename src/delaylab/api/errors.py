"""Errors of the laboratory; their texts say what is wrong, where, and what to do."""

from __future__ import annotations

from delaylab.errors import BadInput, DelaylabError, DoesNotFit, NotHere, Unexpected, together
from delaylab.extras import needed

__all__ = [
    "BadInput",
    "DelaylabError",
    "DoesNotFit",
    "NotHere",
    "Unexpected",
    "needed",
    "together",
]
