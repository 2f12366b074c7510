"""Report that sections show.

A section is a module of this room: `section` makes its value, which the terminal and the page show,
`study_json` and `trial_json` its part of the JSON. `registry` has them all.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import isfinite

from delaylab_study.analysis.claims.finding import Finding
from delaylab_study.analysis.compared.levels import FactorLevels, levels_of
from delaylab_study.analysis.group import Group
from delaylab_study.analysis.statistics.quantiles import Interval, Quantile
from delaylab_study.dataset.store import Study
from delaylab_study.papers.findings import Claimed, Later, Repeated, by_claimant, findings, repeated
from delaylab_study.papers.paper import Paper
from delaylab_study.report import arrange, written
from delaylab_study.report.value import UNKNOWN, Value


@dataclass(frozen=True)
class Report:
    """An analysed study to report; `given` is the paper to take instead of the one that it names.

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


def quantile(key: str, found: Quantile) -> Value:
    """Return a quantile of delays for a table."""
    return Value(
        key,
        found.value,
        "us",
        found.interval or UNKNOWN,
        (found.why,) if found.why else (),
        written.at_most(found.at_most),
        needs=found.needs,
    )


def interval(found: Interval | None) -> list[float] | None:
    """Return the ends of an interval; None if there is none, or if it is infinite."""
    return list(found) if found and all(map(isfinite, found)) else None
