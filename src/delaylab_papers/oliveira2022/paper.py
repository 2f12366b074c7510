"""The paper oliveira2022: its claims, its published numbers and its figures."""

from delaylab_study.papers.toolkit import Paper

from .claims import CLAIMS
from .figures import charts, tables
from .published import SHORT_OF_IT
from .world import as_published

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
    contradictions=(SHORT_OF_IT,),
)
