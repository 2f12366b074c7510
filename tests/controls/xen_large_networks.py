"""Controls of the claims on shares of N nodes of one machine."""

from __future__ import annotations

from dataclasses import replace

from delaylab_papers.xen_large_networks.measures import XEN
from delaylab_papers.xen_large_networks.mpi_measures import REAL
from delaylab_papers.xen_large_networks.mpi_world import MpiTruth
from delaylab_papers.xen_large_networks.paper import PAPER as OF_PAPER
from delaylab_papers.xen_large_networks.world import Truth, drawn
from delaylab_study.analysis.claims.imagined import Design
from tests.controls.control import of_sentences

BLOCKS = 3
STUDY = "xen-large-networks"
PAPER = Truth()
ON_REAL = (Design({"kind": REAL, "n": "4", "work": "mpi"}, REAL, trials=BLOCKS),)
XEN_DOMAINS = (Design({"kind": XEN, "n": "3", "work": "scp"}, XEN, trials=BLOCKS),)
OF_QEMU = tuple(
    Design({"kind": "qemu", "n": "4", "work": work}, "qemu", trials=BLOCKS, equations=3000)
    for work in ("mpi", "messages")
)
"""Machines on hardware, which scale quick leaves out of the work of MPI."""
_control = of_sentences({claim.id: claim for claim in OF_PAPER.claims}, STUDY, drawn, PAPER)


def _mpi(**changes: float) -> Truth:
    return replace(PAPER, mpi=MpiTruth(**changes))


CONTROLS = (
    _control(
        "cpu-work-shared-equally",
        replace(PAPER, cpu_spread=3.2, rate_spread=3.2),
        "a node's share is 5 % off the equal one, a fifth more than in the paper",
        replace(PAPER, cpu_spread=8.0),
    ),
    _control(
        "network-shared-as-by-processes",
        replace(PAPER, network_spread=1.25),
        "Jain's indices are 0.1 apart, a quarter above the limit",
        replace(PAPER, network_spread=3.0),
    ),
    _control(
        "network-takes-more-time-on-machines",
        replace(PAPER, more_time=1.17),
        "nine machines take 1.17 times the time, less than five by a fifth of what they add",
        replace(PAPER, more_time=0.8),
        scale="paper",
        only=(("work", ("network",)),),
    ),
    _control(
        "scp-shared-equally-by-processes",
        replace(PAPER, scp_spread_of_processes=0.16),
        "a process's share is 1.2 points off, a fifth above the limit",
        replace(PAPER, scp_spread_of_processes=2.0),
    ),
    _control(
        "scp-shared-less-equally-by-machines",
        replace(PAPER, scp_spread=0.0, scp_spread_of_processes=0.2),
        "processes share less equally, by a fifth of the spread of machines",
        replace(PAPER, scp_spread=0.0, scp_spread_of_processes=1.0),
    ),
    _control(
        "seven-of-ten-copies-finish",
        replace(PAPER, copies=8),
        "eight of ten finish",
        replace(PAPER, copies=10),
    ),
    _control(
        "driver-domain-takes-most",
        replace(PAPER, driver=0.88),
        "it takes 88 %, and the others a fifth more than 10 %",
        replace(PAPER, driver=0.3),
        beside=XEN_DOMAINS,
    ),
    _control(
        "mpi-little-slower-on-machines",
        _mpi(slower=1.18),
        "machines are 18 % slower, a fifth more than 15 %",
        _mpi(slower=1.5),
        beside=OF_QEMU,
    ),
    _control(
        "mpi-real-times-n-as-on-machines",
        _mpi(times_n=1.12),
        "the ratio is 1.12, a fifth beyond the limit",
        _mpi(times_n=0.5),
        beside=(*OF_QEMU, *ON_REAL),
    ),
    _control(
        "mpi-messages-faster-on-one-host",
        _mpi(near=1.1),
        "messages on one host take a tenth longer, where the world has half",
        _mpi(near=2.0),
        beside=OF_QEMU,
    ),
)
