"""Numbers in sources: exact, finite, of bounded size.

A comma is a decimal mark, as a point is, where it can be nothing else: `1,5`, `0,500`, `1500,250`.
In `1,500` it may as well separate thousands, and so that is no number.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction

from delaylab import units as quantities

NUMBER = re.compile(
    r"\s*[+-]?(?:[0-9]{1,30}(?:[.,][0-9]{0,30})?|[.,][0-9]{1,30})(?:[eE][+-]?[0-9]{1,3})?\s*"
)
THOUSANDS = re.compile(r"\s*[+-]?([1-9][0-9]{0,2}),([0-9]{3})(?![0-9.,])\s*")
LARGEST, SMALLEST = 1e18, 1e-18


def number(text: str) -> Fraction | None:
    """Return a decimal number, exactly as it is written; None for anything else."""
    if not NUMBER.fullmatch(text) or THOUSANDS.fullmatch(text):
        return None
    text = text.replace(",", ".")
    size = abs(float(text))
    if not size <= LARGEST:
        return None
    return Fraction(text.strip()) if size >= SMALLEST else Fraction(0)


def doubt(text: str) -> str:
    """Return what the comma of a number may mean, for a message; "" if there is no doubt."""
    found = THOUSANDS.match(text)
    return f", which may be {found[1]}.{found[2]} or {found[1]}{found[2]}" if found else ""


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
