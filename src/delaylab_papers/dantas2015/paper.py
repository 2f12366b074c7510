"""The paper dantas2015: its claims, its published numbers and its figures."""

from delaylab_study.papers.toolkit import Paper

from .claims import CLAIMS
from .figures import charts, tables
from .published import OUTLIERS, SCENARIOS
from .world import as_published

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
    contradictions=(SCENARIOS, OUTLIERS),
)
