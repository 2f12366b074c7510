"""The paper vem2006 in seven studies.

Links, isolation, virtual routers, the sharing of a CPU, convergence of OSPF, assignment, clocks.

Each part returns no tables and charts for a study that it is not about.
"""

from delaylab_study.papers.toolkit import Chart, Design, Group, Paper, Random, Table, World

from .assignment import claims as of_assignment
from .assignment import tables as assignment
from .assignment import world as assignment_world
from .clocks import claims as of_clocks
from .clocks import tables as clocks
from .clocks import world as clocks_world
from .isolation import claims as of_isolation
from .isolation import figures as isolation
from .isolation import world as isolation_world
from .links import claims as of_links
from .links import tables as links
from .links import world as link_world
from .ospf import claims as of_ospf
from .ospf import tables as ospf
from .ospf import world as ospf_world
from .published import CONTRADICTIONS
from .routers import charts as router_charts
from .routers import claims as of_routers
from .routers import latency as of_latency
from .routers import tables as routers
from .routers import world as router_world
from .sharing import claims as of_sharing
from .sharing import tables as sharing
from .sharing import world as sharing_world

CLAIMS = {
    **of_links.CLAIMS,
    **of_routers.CLAIMS,
    **of_latency.CLAIMS,
    **of_isolation.CLAIMS,
    **of_ospf.CLAIMS,
    **of_sharing.CLAIMS,
    **of_assignment.CLAIMS,
    **of_clocks.CLAIMS,
}


def charts(groups: list[Group]) -> list[Chart]:
    """Return the charts of all parts."""
    return [*router_charts.charts(groups), *isolation.charts(groups)]


def tables(groups: list[Group]) -> list[Table]:
    """Return the tables of all parts."""
    parts = (links, routers, isolation, ospf, sharing, assignment, clocks)
    return [table for part in parts for table in part.tables(groups)]


WORLDS: dict[str, World] = {
    "event": ospf_world.as_published,
    "sync": clocks_world.as_published,
    "network": assignment_world.as_published,
    "test": sharing_world.as_published,
    "shaping": isolation_world.as_published,
    "routers": router_world.as_published,
}
"""Imagined trials from the paper's numbers, by a factor that only one of the studies has."""


def as_published(design: Design, random: Random) -> Group:
    """Return trials of a design of one of the studies, drawn from the paper's own numbers."""
    for factor, world in WORLDS.items():
        if factor in design.levels:
            return world(design, random)
    return link_world.as_published(design, random)


PAPER = Paper(
    "vem2006",
    tuple(CLAIMS.values()),
    charts,
    tables,
    on_hardware=True,
    world=as_published,
    authors="G. Apostolopoulos and C. Chasapis",
    title="V-eM: A Cluster of Virtual Machines for Robust, Detailed, and High-Performance "
    "Network Emulation",
    year=2006,
    contradictions=CONTRADICTIONS,
)
