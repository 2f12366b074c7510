"""Tables and figures of each paper, by the `source` that a study names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from delaylab.analysis.group import Group
from delaylab.records.study import StudyRecord
from delaylab.report import (
    charts,
    dantas2015,
    oliveira2022,
    vem2006,
    vem2006_charts,
    vem2006_isolation,
    vem2006_routers,
)
from delaylab.report.table1 import Part, table1
from delaylab.report.tables import Table
from delaylab.report.vega import Chart


@dataclass(frozen=True, slots=True)
class Paper:
    """Tables and figures that a paper's report consists of."""

    charts: Callable[[list[Group]], list[Chart]]
    tables: Callable[[list[Group]], list[Table]]
    table1: Callable[[list[Group]], list[Part]]


def _vem2006_charts(groups: list[Group]) -> list[Chart]:
    """Return the charts of all parts of vem2006; parts that the study is not about return none."""
    return [*vem2006_charts.charts(groups), *vem2006_isolation.charts(groups)]


def _vem2006_tables(groups: list[Group]) -> list[Table]:
    """Return the tables of all parts of vem2006; parts that the study is not about return none."""
    parts = (vem2006.tables, vem2006_routers.tables, vem2006_isolation.tables)
    return [table for tables in parts for table in tables(groups)]


# Studies of no paper are shown as whiteaker2011 is, whose terms this project uses.
USUAL = Paper(charts.all_charts, lambda groups: [], table1)
PAPERS = {
    "dantas2015": Paper(dantas2015.charts, dantas2015.tables, lambda groups: []),
    "oliveira2022": Paper(oliveira2022.charts, oliveira2022.tables, lambda groups: []),
    "vem2006": Paper(_vem2006_charts, _vem2006_tables, lambda groups: []),
}


def paper(study: StudyRecord) -> Paper:
    """Return the paper that a study repeats."""
    return PAPERS.get(str(study.spec.get("source", "")), USUAL)
