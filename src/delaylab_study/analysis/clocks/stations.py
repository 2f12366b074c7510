"""Stations of a packet's way, and the stamps that were taken there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import polars as pl


class Station(NamedTuple):
    """A point of one leg: a packet passes it once."""

    leg: str
    point: str

    def __str__(self) -> str:
        """Return its name in accounts and doubts, such as `request wire`."""
        return f"{self.leg} {self.point}"


@dataclass(frozen=True, slots=True)
class TakenStamps:
    """Stamps of a station as they were taken, in ns, null for packets that it did not see.

    `clock` is None if it saw none.
    """

    times: pl.Series
    clock: str | None
