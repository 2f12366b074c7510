"""Values in sources, with or without a unit: one language for the readers of all formats.

A value is exact, in base units: nanoseconds, bits per second, kilometres, parts of a whole.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction

from delaylab.topology.numbers import number
from delaylab.units import Duration

VALUE = re.compile(
    r"\s*(?P<number>[-+]?[0-9.,]{1,60}(?:[eE][-+]?[0-9]{1,3})?)\s*(?P<unit>[^\s0-9]*)\s*"
)
RATE = re.compile(
    r"(?P<prefix>[kKmMgGtT]?)(?P<binary>i?)"
    r"(?:(?P<bits>(?i:bits?|bps)|b)|(?P<bytes>B|(?i:bytes?)|Bps))(?:/s|/sec|ps)?"
)
TIMES = {
    **Duration.UNITS,
    **{other: Duration.UNITS[unit] for other, unit in Duration.ALIASES.items()},
}
LENGTHS = {"km": Fraction(1), "m": Fraction(1, 1000), "mi": Fraction(1_609_344, 1_000_000)}
SHARES = {"": Fraction(1), "%": Fraction(1, 100), "ppm": Fraction(1, 10**6)}
PREFIXES = ("", "k", "m", "g", "t")


def duration(text: str, bare: int) -> Fraction | None:
    """Return a time in ns; a number without a unit counts `bare` ns. None for anything else."""
    return _of(text, {**TIMES, "μs": TIMES["us"], "": bare})


def length(text: str) -> Fraction | None:
    """Return a length in km, which is also the unit of a bare number; None for anything else."""
    return _of(text, {**LENGTHS, "": 1})


def part(text: str) -> Fraction | None:
    """Return a part of a whole: `0.01`, `1%`; None for anything else, and for more than 1."""
    found = _of(text, SHARES)
    return found if found is not None and found <= 1 else None


def rate(text: str, bare: int) -> Fraction | None:
    """Return a rate in bit/s; a number without a unit counts `bare`. None for anything else."""
    split = VALUE.fullmatch(text)
    if split is None:
        return None
    unit = split["unit"]
    return _of(text, {"": bare} if not unit else {unit: _bits(unit)})


def is_bare(text: str) -> bool:
    """Return True for a number without a unit."""
    return number(text) is not None


def _bits(unit: str) -> int:
    """Return the bits per second of a unit; 0 if there is no such unit.

    Prefixes mean the same in both cases. `B` and `byte` are bytes, `b`, `bit` and `bps` are bits.
    """
    found = RATE.fullmatch(unit)
    if found is None:
        return 0
    base = 1024 if found["binary"] else 1000
    power = PREFIXES.index(found["prefix"].lower())
    return int(base**power) * (8 if found["bytes"] else 1)


def _of(text: str, units: Mapping[str, int | Fraction]) -> Fraction | None:
    split = VALUE.fullmatch(text)
    found = number(split["number"]) if split else None
    if split is None or found is None or found < 0:
        return None
    factor = units.get(split["unit"], 0)
    return found * factor if factor else None
