"""The paper's claims on programs of MPI, section 2.4."""

from __future__ import annotations

from collections.abc import Iterator

from delaylab_study.papers.toolkit import (
    Claim,
    Criterion,
    Group,
    Measured,
    Source,
    below,
    between,
)

from .measures import FEWEST, LINUX, kinds, mean, mean_ratio, named, system_of
from .mpi_measures import (
    ACROSS,
    LEAST_ORDER,
    NEAR,
    OPERATIONS,
    REAL,
    SOLVE,
    near_over_across,
    of_work,
    solving_times_s,
)

MOST_SLOWER = 1.15
PERFECT = (0.9, 1.1)
"""The paper's "matches … perfectly", which names no margin, and has figures only."""
SUBSTITUTE = "The paper ran nine NAS benchmarks; here hpcc's solver of equations stands for them"
OF_SOLVER = f"{FEWEST} trials of hpcc with {LEAST_ORDER} equations or more"
OVER_LINKS = "The paper's wire was between real computers; here a link of 100 Mbit/s stands for it"


def slower_on_machines(groups: list[Group]) -> Iterator[Measured]:
    """Yield the time of a solver over that by as many plain processes."""
    for kind, n in kinds(groups):
        if kind in (LINUX, REAL):
            continue
        own, plain = (solving_times_s(groups, each, n) for each in (kind, LINUX))
        effect = mean_ratio(own, plain)
        if effect is not None:
            of = [each for k in (kind, LINUX) for each in of_work(groups, k, n, SOLVE)]
            yield Measured(named(kind, n), effect, of, kinds=(system_of(kind),))


def machines_over_real(groups: list[Group]) -> Iterator[Measured]:
    """Yield the time of a solver on N machines of one computer over N times that on N."""
    for kind, n in kinds(groups):
        own, real = (solving_times_s(groups, each, n) for each in (kind, REAL))
        effect = mean_ratio(own, {repeat: int(n) * time_s for repeat, time_s in real.items()})
        if effect is not None and kind != REAL:
            of = [each for k in (kind, REAL) for each in of_work(groups, k, n, SOLVE)]
            yield Measured(named(kind, n), effect, of, kinds=(system_of(kind),))


def near_messages(groups: list[Group]) -> Iterator[Measured]:
    """Yield the time of messages between nodes of one host, over that of messages on the wire."""
    for kind, n in kinds(groups):
        for operation in OPERATIONS:
            effect = mean(near_over_across(groups, kind, n, operation).values())
            if effect is not None:
                of = [*of_work(groups, kind, n, NEAR), *of_work(groups, LINUX, n, ACROSS)]
                yield Measured(f"{kind}, {operation}", effect, of, kinds=(system_of(kind),))


CLAIMS = {
    claim.id: claim
    for claim in (
        Claim(
            "mpi-little-slower-on-machines",
            "A program of MPI takes less than 15 % longer on virtual machines than by as many "
            "plain processes.",
            Source(
                "section 2.4",
                "Normally, the VM network only causes less than 15% performance degradation.",
                "figures 15 and 16",
            ),
            (
                Criterion(
                    "time of a solver of equations on the nodes over that by as many plain "
                    "processes",
                    "times",
                    below(MOST_SLOWER),
                    slower_on_machines,
                    f"{OF_SOLVER}, by nodes and by plain processes: with fewer it mostly sends "
                    "messages, and the paper's programs mostly compute",
                ),
            ),
            caveat=SUBSTITUTE,
            about=("scheduling", "forwarding", "speed"),
        ),
        Claim(
            "mpi-real-times-n-as-on-machines",
            "N times the run time on N real computers is that on N virtual machines of one.",
            Source(
                "section 2.4",
                "Figure 17 and Figure 18 shows that after multiplying the experiment data from "
                'real network by "4" (which is the number of VMs), the resulting yellow curve '
                "matches the experiment data from VM network perfectly.",
                "figures 17 and 18",
            ),
            (
                Criterion(
                    "time of a solver of equations on N nodes of one computer over N times that "
                    "on N computers",
                    "times",
                    between(*PERFECT),
                    machines_over_real,
                    f"{OF_SOLVER} on N computers (level `{REAL}` of `kind`), which no study brings",
                ),
            ),
            caveat=SUBSTITUTE,
            about=("scheduling", "forwarding", "speed"),
        ),
        Claim(
            "mpi-messages-faster-on-one-host",
            "Messages of MPI between virtual machines of one host are faster than between "
            "computers.",
            Source(
                "section 2.4",
                "We see that microbenchmark programs do perform better in VM network than in real "
                "network.",
                "figure 19",
            ),
            (
                Criterion(
                    "time of a message between nodes of one host over that on the wire, mean of "
                    "all sizes",
                    "times",
                    below(1),
                    near_messages,
                    f"{FEWEST} trials of messages between nodes of one host, and between plain "
                    "processes of two hosts",
                ),
            ),
            caveat=OVER_LINKS,
            about=("forwarding", "speed"),
        ),
    )
}
