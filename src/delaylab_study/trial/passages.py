"""Passages of a trial's packets through the links of its lab, by the engines' records."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import astuple, dataclass, field

import polars as pl

from delaylab.api.agents import WantedPacket
from delaylab.api.causes import Passage
from delaylab.api.running import LinkRecords
from delaylab_study.dataset.records.tables import TABLES

NAME = "passages"
"""The table's name."""


@dataclass(eq=False)
class WantedPassages:
    """Passages of packets that are wanted, by the clock of the engines, and those that were found.

    Without `links` there are none.
    """

    links: LinkRecords | None
    _wanted: dict[str, list[WantedPacket]] = field(default_factory=lambda: defaultdict(list))
    _found: list[tuple[str, Passage]] = field(default_factory=list)

    def want(self, clock: str, probe: int, seq: int, from_ns: int, to_ns: int) -> None:
        """Want those passages of a packet that ended between two times of a clock."""
        self._wanted[clock].append(WantedPacket(probe, seq, from_ns, to_ns))

    def read(self) -> None:
        """Ask the engines for what is wanted."""
        found = {} if self.links is None else self.links.passages(self._wanted)
        self._found += [(clock, each) for clock, passages in found.items() for each in passages]
        self._wanted.clear()

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """Return what was found as the table `passages`."""
        rows = [(clock, *astuple(passage)) for clock, passage in self._found]
        return {NAME: pl.DataFrame(rows, schema=dict(TABLES[NAME]), orient="row")}
