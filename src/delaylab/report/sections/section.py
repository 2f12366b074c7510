"""Report that sections show, and the forms that a section may have.

A section is a module of this room, with a function for each of its forms. `registry` has them all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import isfinite
from typing import Protocol

from rich.table import Table
from rich.text import Text

from delaylab.analysis.claims.finding import Finding
from delaylab.analysis.compared.levels import FactorLevels, levels_of
from delaylab.analysis.group import Group
from delaylab.analysis.statistics.quantiles import Interval
from delaylab.dataset.records.trial import TrialRecord
from delaylab.dataset.store import Study
from delaylab.io.values import JsonObject
from delaylab.papers.findings import Claimed, Later, Repeated, by_claimant, findings, repeated
from delaylab.papers.paper import Paper
from delaylab.report import arrange

WIDE = 100
"""Width of a terminal, in columns, below which tables are folded."""


@dataclass(frozen=True)
class Report:
    """Analysed study to report; `given` is the paper to take instead of the one that it names.

    `later` are claims that were chosen after the data, which are judged, too.
    """

    study: Study
    groups: list[Group]
    given: Paper | None = None
    later: Later = ()

    @cached_property
    def probed(self) -> list[Group]:
        """Return the groups with packets."""
        return arrange.probed(self.groups)

    @cached_property
    def repeated(self) -> Repeated:
        """Return the paper that the study repeats."""
        return repeated(self.study.record, self.given)

    @cached_property
    def findings(self) -> list[Finding]:
        """Return the verdicts on the study's claims."""
        return findings(self.study, self.groups, self.given, self.later)

    @cached_property
    def levels(self) -> list[FactorLevels]:
        """Return what each level of each factor adds to the user RTT."""
        return levels_of(self.study.record.factors, self.probed)

    @property
    def claims(self) -> list[Claimed]:
        """Return the verdicts by whose claims they are on."""
        return by_claimant(self.findings, self.given)


class Drawing(Protocol):
    """Drawing of the page that is also a file of its own."""

    @property
    def name(self) -> str:
        """Return the name of its file, without an ending."""

    @property
    def title(self) -> str:
        """Return what it shows, in words."""

    @property
    def svg(self) -> str:
        """Return the drawing."""

    def fitted(self, width: float) -> str:
        """Return the drawing as SVG of this width in px, with letters of 7 pt or more.

        Raise TooNarrow if they would be smaller.
        """


@dataclass(frozen=True, slots=True)
class Html:
    """Values of a section's template, and its drawings."""

    values: dict[str, object]
    drawings: Sequence[Drawing] = field(default=())


class InTerminal(Protocol):
    """Section in the terminal."""

    def terminal(self, report: Report, width: int, /) -> Iterable[Table | Text]:
        """Return what to print in a terminal of so many columns."""


class InPage(Protocol):
    """Section of the page; its template has the module's name."""

    __name__: str

    def html(self, report: Report, /) -> Html:
        """Return the values of the section's template."""


class InStudyJson(Protocol):
    """Section of a study's JSON."""

    def study_json(self, report: Report, /) -> JsonObject:
        """Return the section's keys and values."""


class InTrialJson(Protocol):
    """Section of the JSON of each trial."""

    def trial_json(self, trial: TrialRecord, group: Group | None, /) -> JsonObject:
        """Return the section's keys and values; `group` is None if the trial failed."""


def interval(found: Interval | None) -> list[float] | None:
    """Return the ends of an interval; None if there is none, or if it is infinite."""
    return list(found) if found and all(map(isfinite, found)) else None
