"""The paper on simulating large networks with Xen."""

from delaylab.papers.paper import Paper
from delaylab.papers.xen_large_networks.claims import CLAIMS
from delaylab.papers.xen_large_networks.figures import tables
from delaylab.papers.xen_large_networks.mpi_claims import CLAIMS as MPI_CLAIMS
from delaylab.papers.xen_large_networks.world import as_published

PAPER = Paper(
    "xen-large-networks",
    (*CLAIMS.values(), *MPI_CLAIMS.values()),
    tables=tables,
    on_hardware=True,
    world=as_published,
    authors="unknown authors",
    title="a report on Xen as a simulator of large networks, whose title page is missing",
)
