"""The parts that a paper adds to a study: claims, tables and figures."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from delaylab_study.analysis.claims.claim import Claim
from delaylab_study.analysis.claims.imagined import Design, Random
from delaylab_study.analysis.group import Group
from delaylab_study.charts.layer_table import Part
from delaylab_study.charts.tables import Table
from delaylab_study.charts.vega import Chart

World = Callable[[Design, Random], Group]
"""A function that draws imagined trials of a design from a paper's numbers."""


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper: its claims, and the charts and tables that it adds to a report.

    `name` is the `source` that its studies name. Its study files lie beside the module that defines
    it. `charts`, `tables` and `layer_table` are functions of a study's analysed groups.
    `layer_table` returns the delays by layer, with the paper's numbers beside them; `layer_note`
    says which numbers these are and of which machine. `on_hardware` is True if the paper's virtual
    machines ran on hardware: claims that name no mechanism are then about `speed`, which emulated
    ones do not have. `world` draws imagined trials of a design from the published numbers; with it
    `run --dry-run` says what a study can be expected to decide. `authors`, `title` and `year` are
    the publication's, for reports. `contradictions` are sentences, each on two places of the
    publication that do not agree.
    """

    name: str
    claims: Sequence[Claim] = ()
    charts: Callable[[list[Group]], list[Chart]] = lambda _: []
    tables: Callable[[list[Group]], list[Table]] = lambda _: []
    layer_table: Callable[[list[Group]], list[Part]] = lambda _: []
    layer_note: str = ""
    on_hardware: bool = False
    world: World | None = None
    authors: str = ""
    title: str = ""
    year: int | None = None
    contradictions: Sequence[str] = ()

    @property
    def short(self) -> str:
        """Return the first author's surname and the year, or the name if they are not given."""
        first, *more = re.split(", | and ", self.authors)
        first = re.sub(r"^(\w\. )+", "", first)
        others = " et al." if more else ""
        return f"{first}{others} ({self.year})" if first and self.year else self.name

    @property
    def citation(self) -> str:
        """Return authors, title and year, as far as they are given."""
        quoted = f"“{self.title}”" if self.title else ""
        year = str(self.year) if self.year else ""
        return ", ".join(part for part in (self.authors, quoted, year) if part) or self.name
