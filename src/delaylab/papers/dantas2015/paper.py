"""The paper dantas2015: its claims, its published numbers and its figures."""

from delaylab.papers.dantas2015.claims import CLAIMS
from delaylab.papers.dantas2015.figures import charts, tables
from delaylab.papers.dantas2015.world import as_published
from delaylab.papers.paper import Paper

PAPER = Paper(
    "dantas2015",
    tuple(CLAIMS.values()),
    charts,
    tables,
    on_hardware=True,
    world=as_published,
    authors="R. Dantas, D. Sadok, C. Flinta and A. Johnsson",
    title="KVM Virtualization Impact on Active Round-Trip Time Measurements",
    year=2015,
)
