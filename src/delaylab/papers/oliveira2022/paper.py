"""The paper oliveira2022: its claims, its published numbers and its figures."""

from delaylab.papers.oliveira2022.claims import CLAIMS
from delaylab.papers.oliveira2022.figures import charts, tables
from delaylab.papers.oliveira2022.world import as_published
from delaylab.papers.paper import Paper

PAPER = Paper(
    "oliveira2022",
    tuple(CLAIMS.values()),
    charts,
    tables,
    on_hardware=True,
    world=as_published,
    authors="A. T. de Oliveira Filho, E. Freitas, P. R. X. do Carmo, D. H. J. Sadok and J. Kelner",
    title="An experimental investigation of Round-Trip Time and virtualization",
    year=2022,
)
