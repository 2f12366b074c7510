"""The paper vem2006 in three studies: links, isolation and virtual routers.

Each part returns no tables and charts for a study that it is not about.
"""

from delaylab.analysis.group import Group
from delaylab.charts.tables import Table
from delaylab.charts.vega import Chart
from delaylab.papers.paper import Paper
from delaylab.papers.vem2006 import (
    isolation_claims,
    isolation_figures,
    latency_claims,
    link_claims,
    link_tables,
    router_charts,
    router_claims,
    router_tables,
)

CLAIMS = {
    **link_claims.CLAIMS,
    **router_claims.CLAIMS,
    **latency_claims.CLAIMS,
    **isolation_claims.CLAIMS,
}


def charts(groups: list[Group]) -> list[Chart]:
    """Return the charts of all parts."""
    return [*router_charts.charts(groups), *isolation_figures.charts(groups)]


def tables(groups: list[Group]) -> list[Table]:
    """Return the tables of all parts."""
    parts = (link_tables.tables, router_tables.tables, isolation_figures.tables)
    return [table for part in parts for table in part(groups)]


PAPER = Paper(
    "vem2006",
    tuple(CLAIMS.values()),
    charts,
    tables,
    on_hardware=True,
    authors="G. Apostolopoulos and C. Chasapis",
    title="V-eM: a cluster of virtual machines for network emulation",
    year=2006,
)
