"""The paper on simulating large networks with Xen."""

from delaylab_study.papers.toolkit import Paper

from .claims import CLAIMS
from .figures import tables
from .mpi_claims import CLAIMS as MPI_CLAIMS
from .world import as_published

PAPER = Paper(
    "xen-large-networks",
    (*CLAIMS.values(), *MPI_CLAIMS.values()),
    tables=tables,
    on_hardware=True,
    world=as_published,
    authors="unknown authors",
    title="a report on Xen as a simulator of large networks, whose title page is missing",
)
