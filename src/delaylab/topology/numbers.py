"""Numbers in sources: exact, finite, of bounded size."""

from __future__ import annotations

import math
import re
from fractions import Fraction

from delaylab import units as quantities

NUMBER = re.compile(
    r"\s*[+-]?(?:[0-9]{1,30}(?:\.[0-9]{0,30})?|\.[0-9]{1,30})(?:[eE][+-]?[0-9]{1,3})?\s*"
)
LARGEST, SMALLEST = 1e18, 1e-18


def number(text: str) -> Fraction | None:
    """Return a decimal number, exactly as it is written; None for anything else."""
    if not NUMBER.fullmatch(text):
        return None
    size = abs(float(text))
    if not size <= LARGEST:
        return None
    return Fraction(text.strip()) if size >= SMALLEST else Fraction(0)


def whole(text: str) -> int | None:
    """Return a whole number; None for anything else."""
    found = number(text)
    return int(found) if found is not None and found.denominator == 1 else None


def coordinate(text: str) -> float | None:
    """Return a coordinate; None for anything else."""
    found = number(text)
    return None if found is None or not math.isfinite(float(found)) else float(found)


def scaled(value: Fraction | None, unit: int) -> int | None:
    """Return a value in whole base units, rounded; None if there is none or it is negative.

    A value past the largest quantity becomes that one, which the checks of labs refuse.
    """
    return None if value is None or value < 0 else min(round(value * unit), quantities.LARGEST)
