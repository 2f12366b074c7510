"""Results of a trial, with a probe or without one, and the check that its clock was left alone."""

from __future__ import annotations

import time
from dataclasses import dataclass

import polars as pl

from delaylab.api.cpus import reserved_cpus
from delaylab.api.lab import Lab
from delaylab.api.records import Doubt, DoubtKind, doubt
from delaylab.api.running import LiveLab
from delaylab_study.dataset.records.trial import Measurement, ReservedCpus

CLOCK_STEP_NS = 500_000


@dataclass
class Recorded:
    """The results of a trial: its tables, and its record without the study's own fields."""

    record: Measurement
    hosts: pl.DataFrame
    progress: pl.DataFrame
    of_routers: dict[str, pl.DataFrame]

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """Return the tables by name."""
        return {"hosts": self.hosts, "progress": self.progress, **self.of_routers}


@dataclass(kw_only=True)
class Recording(Recorded):
    """The results of a trial with a probe."""

    stamps: pl.DataFrame
    probes: pl.DataFrame
    answers: pl.DataFrame
    comparisons: pl.DataFrame
    of_cpus: dict[str, pl.DataFrame]

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """Return the tables by name."""
        own = {
            "stamps": self.stamps,
            "probes": self.probes,
            "answers": self.answers,
            "comparisons": self.comparisons,
        }
        return {**super().tables, **own, **self.of_cpus}


def hosts_of(lab: LiveLab) -> dict[str, str]:
    """Return the machine of each host of a lab, as a trial records them."""
    names = dict.fromkeys([*lab.spec.hosts, *map(lab.spec.host_of, lab.spec.nodes)])
    return {name: lab.plan.machines.get(name, lab.machine.name) for name in names}


def reserved(lab: Lab) -> list[ReservedCpus]:
    """Return the CPUs that a lab reserves for some of its nodes, as a trial records them."""
    return [ReservedCpus(cpus=cpus, nodes=nodes) for cpus, nodes in reserved_cpus(lab.nodes)]


def wall_minus_monotonic() -> int:
    """Return in ns how far the machine's clock is ahead of its monotonic one."""
    return time.time_ns() - time.monotonic_ns()


def clock_doubts(step_ns: int) -> list[Doubt]:
    """Return the doubt that the machine's clock was set by so much during a trial, if it was."""
    if abs(step_ns) < CLOCK_STEP_NS:
        return []
    return [
        doubt(
            DoubtKind.CLOCK_STEP,
            f"the machine's clock was set by {step_ns / 1e6:.3f} ms during the trial",
            "stop time synchronisation while measuring, or let it slew",
            step_us=step_ns / 1000,
        )
    ]
