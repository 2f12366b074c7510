"""Reader of JSON from an agent, whose size is bounded before it is read.

A few bytes of JSON may be a large object: 63 MB of `{}` are 1.6 GB.
"""

from __future__ import annotations

import json
import math
from typing import NoReturn

from delaylab.records.base import LARGEST

MOST_BYTES = 16 << 20
"""The largest message. The report of a link engine with 10,000 directions has less."""
BYTES_OF_ITEM = 16
"""The least bytes of each value and name, on average; read, each takes some 100 bytes."""
_MARKS = b"{[,:"
"""Bytes of which one stands before each value and each name; those in texts count, too."""


def read_object(data: bytes, most_bytes: int = MOST_BYTES) -> dict[str, object]:
    """Return a JSON object; raise ValueError, in one line, for anything else or a larger one.

    A number beyond those that a dataset can hold is refused, too.
    """
    if len(data) > most_bytes:
        raise ValueError(f"it has {len(data)} bytes, more than {most_bytes}")
    most_items = most_bytes // BYTES_OF_ITEM
    if sum(data.count(mark) for mark in _MARKS) > most_items:
        raise ValueError(f"it has more than {most_items} values")
    try:
        found = json.loads(
            data, parse_int=_whole, parse_float=_finite, parse_constant=_not_a_number
        )
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    if not isinstance(found, dict):
        raise ValueError("it is not a JSON object")
    return found


def _whole(text: str) -> int:
    number = int(text)
    if abs(number) > LARGEST:
        raise ValueError("a number is beyond 2⁶²")
    return number


def _finite(text: str) -> float:
    if not math.isfinite(value := float(text)):
        raise ValueError("a number is too large")
    return value


def _not_a_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number")
