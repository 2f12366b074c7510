"""The process that runs a campaign's trials: `python -m … FD [NAME MACHINE]`.

It is a process of its own, so that what the machine's other work needs (a scheduler's heartbeats,
garbage collection) does not run beside a measurement. It keeps a lab for the next trial, as a study
on one machine does, and takes it down when nobody has asked for a trial for a while.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path

from delaylab.api.errors import DelaylabError
from delaylab.api.lab_files import MachineSpec
from delaylab.api.machines import LOCAL, Machine, SshMachine, reach_of
from delaylab_study.campaign.parcel import (
    Declared,
    MachineQuestion,
    Parcel,
    TrialJob,
    packed,
    study_of,
)
from delaylab_study.study import fits
from delaylab_study.study.block_rates import BlockRates
from delaylab_study.study.executor import Here
from delaylab_study.study.fits import differing
from delaylab_study.study.order import Planned, planned_like, study_in
from delaylab_study.study_file.combine import StudyFile
from delaylab_study.study_file.placed import StudyMachine

IDLE_S = 10.0
"""The time without a job after which the lab is taken down."""
PR_SET_PDEATHSIG = 1
WHERE = "the study of a campaign"


class Planner:
    """The trials of the study that jobs are of, planned once for each study.

    `machine` is the machine that carries their labs, None for this one.
    """

    def __init__(self, machine: StudyMachine | None) -> None:
        self._machine = machine
        self._study = b""
        self._planned: dict[str, Planned] = {}

    def trial(self, job: TrialJob) -> Planned:
        """Return the trial of a job; raise DelaylabError if its study has no such trial."""
        self._planned_of(job.study)
        if job.trial not in self._planned:
            what = f"the study has no trial {job.trial!r} here"
            raise DelaylabError(what, fix="use one version of delaylab on all machines")
        return self._planned[job.trial]

    def unfit(self, study: bytes) -> dict[str, str]:
        """Return the trials of a study that the machine cannot run, with the reasons."""
        self._planned_of(study)
        return fits.unfit(list(self._planned.values()))

    def study(self, study: bytes) -> StudyFile:
        """Return a study whose labs are on the machine."""
        return replace(study_in(study_of(study), WHERE), machine=self._machine)

    def _planned_of(self, study: bytes) -> None:
        if study != self._study:
            found = planned_like(self.study(study), study_of(study))
            self._study, self._planned = study, {each.id: each for each in found}

    def block(self, trial: Planned) -> list[Planned]:
        """Return the trials of a trial's block."""
        return [each for each in self._planned.values() if each.repeat == trial.repeat]


def serve(pipe: Connection, machine: StudyMachine | None) -> None:
    """Run the trials that are asked for until the other end is closed.

    Their labs are on `machine`; None is this one.
    """
    at_work = _AtWork(machine)
    try:
        while True:
            if not pipe.poll(IDLE_S):
                at_work.rest()
                pipe.poll(None)
            asked = pipe.recv()
            try:
                pipe.send(at_work.answer(asked))
            except DelaylabError as error:
                pipe.send(error)
    except (EOFError, ConnectionError):
        pass
    finally:
        at_work.rest()


class _AtWork:
    """The executor of one campaign after another; its lab stays up between trials."""

    def __init__(self, machine: StudyMachine | None) -> None:
        self._machine, self._planner = machine, Planner(machine)
        self._campaign = ""
        self._executor: Here | None = None

    def answer(self, asked: TrialJob | MachineQuestion) -> Parcel | Declared:
        """Return the outcome of a job, or what the machine is."""
        return self.run(asked) if isinstance(asked, TrialJob) else self.declared(asked)

    def declared(self, asked: MachineQuestion) -> Declared:
        """Return what the machine is, and which trials of a study it cannot run."""
        with _reached(self._machine) as machine:
            record = machine.describe()
            differs = differing(self._planner.study(asked.study), record, machine)
        unfit = {} if differs else self._planner.unfit(asked.study)
        return Declared(record.model_dump_json(by_alias=True).encode(), differs, unfit)

    def run(self, job: TrialJob) -> Parcel:
        """Run one trial, and return its outcome."""
        if job.campaign != self._campaign:
            self.rest()
        self._campaign = job.campaign
        executor = self._executor = self._executor or Here()
        trial = self._planner.trial(job)
        rates = BlockRates(self._planner.block(trial), job.known)
        with tempfile.TemporaryDirectory(prefix="delaylab-campaign-") as folder:
            captures = Path(folder) / "pcap" if job.pcap else None
            if captures is not None:
                captures.mkdir()
            outcome = executor.run_trial(trial, rates, captures)
            executor.after(outcome)
            return packed(outcome, captures)

    def rest(self) -> None:
        """Take the lab down, if one is up."""
        executor, self._executor = self._executor, None
        if executor is not None:
            executor.close()


@contextmanager
def _reached(other: StudyMachine | None) -> Iterator[Machine]:
    """Reach the machine that carries the labs for a block; None is this one."""
    if other is None:
        yield LOCAL
        return
    reached = SshMachine(other.name, reach_of(other.spec))
    try:
        yield reached
    finally:
        reached.close()


def main(descriptor: int, machine: StudyMachine | None) -> None:
    """Serve the process that started this one, and end with it."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started this one
    signal.signal(signal.SIGTERM, _end)
    # What a trial prints is not part of an answer.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    with suppress(SystemExit):
        serve(Connection(descriptor), machine)


def _end(number: int, _frame: object) -> None:
    sys.exit(128 + number)


if __name__ == "__main__":
    of_other = sys.argv[2:]
    main(
        int(sys.argv[1]),
        StudyMachine(of_other[0], MachineSpec.model_validate_json(of_other[1]))
        if of_other
        else None,
    )
