"""Factors whose levels are numbers, so that figures have an axis of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from delaylab.api.units import amount_of

FEWEST = 3
"""The smallest number of levels that are drawn along an axis."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """The amounts that the levels of a factor stand for, all in one base unit (`units.BASES`)."""

    unit: str
    values: dict[str, float]


def numbers_of(levels: Sequence[str], fewest: int = FEWEST) -> Numbers | None:
    """Return the amounts of a factor's levels, by level in rising order.

    Return None if there are fewer levels than that, or if they are not
    different amounts of one unit.
    """
    found = {level: amount_of(level) for level in levels}
    known = {level: amount for level, amount in found.items() if amount is not None}
    units = {amount.unit for amount in known.values()}
    values = {level: amount.value for level, amount in known.items()}
    if len(known) < len(found) or len(units) != 1 or len(set(values.values())) < len(levels):
        return None
    if len(levels) < fewest:
        return None
    return Numbers(units.pop(), dict(sorted(values.items(), key=lambda item: item[1])))
