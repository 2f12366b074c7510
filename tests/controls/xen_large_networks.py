"""Controls of the claims on shares of N nodes of one machine."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from delaylab_papers.xen_large_networks.measures import XEN
from delaylab_papers.xen_large_networks.mpi_measures import REAL
from delaylab_papers.xen_large_networks.mpi_world import MpiTruth
from delaylab_papers.xen_large_networks.paper import PAPER as OF_PAPER
from delaylab_papers.xen_large_networks.world import Truth, drawn
from delaylab_study.analysis.claims.imagined import Design, Random
from delaylab_study.analysis.group import Group
from delaylab_study.papers.studies import find
from delaylab_study.study_file.combine import combinations
from delaylab_study.study_file.load import load_study
from tests.controls.control import World, controls

BLOCKS = 3


def world(truth: Truth) -> World:
    """The trials of the study, as its quick design has them, those on real computers, and Xen's."""

    def draw(random: Random) -> list[Group]:
        return [drawn(truth, design, random) for design in _designs()]

    return draw


@cache
def _designs() -> tuple[Design, ...]:
    study = load_study(find("xen-large-networks"))
    planned = [dict(each.levels) for each in combinations(study, "quick")]
    real = {"kind": REAL, "n": "4", "work": "mpi"}
    xen = {"kind": XEN, "n": "3", "work": "scp"}
    return tuple(Design(each, each["kind"], trials=BLOCKS) for each in (*planned, real, xen))


PAPER = Truth()
_control = controls({claim.id: claim for claim in OF_PAPER.claims}, world, PAPER)


def _mpi(**changes: float) -> Truth:
    return replace(PAPER, mpi=MpiTruth(**changes))


CONTROLS = (
    _control(
        "cpu-work-shared-equally",
        replace(PAPER, cpu_spread=4.0),
        replace(PAPER, cpu_spread=8.0),
        replace(PAPER, cpu_spread=2.0),
        "open",
    ),
    _control(
        "network-shared-as-by-processes",
        replace(PAPER, network_spread=2.0),
        replace(PAPER, network_spread=3.0),
        replace(PAPER, network_spread=0.5),
        "reproduced",
    ),
    _control(
        "streams-fill-the-wire",
        replace(PAPER, filled=0.7),
        replace(PAPER, filled=0.3),
        replace(PAPER, filled=0.9),
        "reproduced",
    ),
    _control(
        "scp-shared-equally-by-processes",
        replace(PAPER, scp_spread_of_processes=1.0),
        replace(PAPER, scp_spread_of_processes=2.0),
        replace(PAPER, scp_spread_of_processes=0.2),
        "reproduced",
    ),
    _control(
        "scp-shared-less-equally-by-machines",
        replace(PAPER, scp_spread=0.0),
        replace(PAPER, scp_spread=0.0, scp_spread_of_processes=1.0),
        replace(PAPER, scp_spread=0.5),
        "reproduced",
    ),
    _control(
        "driver-domain-takes-most",
        replace(PAPER, driver=0.8),
        replace(PAPER, driver=0.3),
        replace(PAPER, driver=0.9),
        "open",
    ),
    _control(
        "mpi-little-slower-on-machines",
        _mpi(slower=1.15),
        _mpi(slower=1.5),
        _mpi(slower=1.04),
        "reproduced",
    ),
    _control(
        "mpi-real-times-n-as-on-machines",
        _mpi(times_n=1.1),
        _mpi(times_n=0.5),
        _mpi(times_n=1.05),
        "reproduced",
    ),
    _control(
        "mpi-messages-faster-on-one-host",
        _mpi(near=1.0),
        _mpi(near=2.0),
        _mpi(near=0.75),
        "reproduced",
    ),
)
