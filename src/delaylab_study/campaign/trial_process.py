"""The process of a machine that runs a campaign's trials: `python -m … FD`.

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
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path

from delaylab.api.errors import DelaylabError
from delaylab.api.machines import LOCAL
from delaylab_study.campaign.parcel import Declared, Parcel, TrialJob, packed, study_of
from delaylab_study.study import fits
from delaylab_study.study.block_rates import BlockRates
from delaylab_study.study.executor import Here
from delaylab_study.study.order import Planned, planned_like, study_in

IDLE_S = 10.0
"""The time without a job after which the lab is taken down."""
PR_SET_PDEATHSIG = 1
WHERE = "the study of a campaign"


class Planner:
    """The trials of the study that jobs are of, planned once for each study."""

    def __init__(self) -> None:
        self._study = b""
        self._planned: dict[str, Planned] = {}

    def trial(self, job: TrialJob) -> Planned:
        """Return the trial of a job; raise DelaylabError if its study has no such trial."""
        if job.study != self._study:
            record = study_of(job.study)
            found = planned_like(study_in(record, WHERE), record)
            self._study, self._planned = job.study, {each.id: each for each in found}
        if job.trial not in self._planned:
            what = f"the study has no trial {job.trial!r} here"
            raise DelaylabError(what, fix="use one version of delaylab on all machines")
        return self._planned[job.trial]

    def block(self, trial: Planned) -> list[Planned]:
        """Return the trials of a trial's block."""
        return [each for each in self._planned.values() if each.repeat == trial.repeat]


def declared(study: bytes) -> Declared:
    """Return what this machine is, and which trials of a study it cannot run."""
    record = study_of(study)
    unfit = fits.unfit(planned_like(study_in(record, WHERE), record))
    return Declared(LOCAL.describe().model_dump_json(by_alias=True).encode(), unfit)


def serve(pipe: Connection) -> None:
    """Run the trials that are asked for until the other end is closed.

    A question is a job, or the record of a study, whose answer is what this machine is.
    """
    at_work = _AtWork()
    try:
        while True:
            if not pipe.poll(IDLE_S):
                at_work.rest()
                pipe.poll(None)
            asked = pipe.recv()
            try:
                pipe.send(declared(asked) if isinstance(asked, bytes) else at_work.run(asked))
            except DelaylabError as error:
                pipe.send(error)
    except (EOFError, ConnectionError):
        pass
    finally:
        at_work.rest()


class _AtWork:
    """The executor of one campaign after another; its lab stays up between trials."""

    def __init__(self) -> None:
        self._planner = Planner()
        self._campaign = ""
        self._executor: Here | None = None

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


def main(descriptor: int) -> None:
    """Serve the process that started this one, and end with it."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started this one
    signal.signal(signal.SIGTERM, _end)
    # What a trial prints is not part of an answer.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    with suppress(SystemExit):
        serve(Connection(descriptor))


def _end(number: int, _frame: object) -> None:
    sys.exit(128 + number)


if __name__ == "__main__":
    main(int(sys.argv[1]))
