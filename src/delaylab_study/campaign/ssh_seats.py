"""Seats of a campaign on machines that ssh reaches: nothing is deployed on them.

Each machine has a process here, which builds labs there over its one ssh connection, as a lab with
`machines:` does. What measures is the agent on the machine.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import Empty, Queue

from delaylab.api.errors import DelaylabError
from delaylab_study.campaign.parcel import TrialJob, opened_record
from delaylab_study.campaign.seats import (
    MachineJoined,
    MachineLeft,
    MachineRefused,
    News,
    TrialBroke,
    TrialEnded,
)
from delaylab_study.campaign.trials_beside import ProcessEnded, TrialsBeside
from delaylab_study.study_file.placed import StudyMachine

AGAIN_S = 10.0
"""The time after which a machine that was lost is asked again."""


class SshSeats:
    """Machines by their names, each with a process here that runs trials there."""

    def __init__(self, machines: Sequence[StudyMachine], study: bytes) -> None:
        self._study = study
        self._beside = {each.name: TrialsBeside(each) for each in machines}
        self._inbox: Queue[News] = Queue()
        self._threads = ThreadPoolExecutor(len(machines))
        self._lost_at_s: dict[str, float] = {}
        self._asked = set(self._beside)
        self._ended = False
        for name in self._beside:
            self._threads.submit(self._ask, name)

    def heard(self, timeout_s: float | None) -> News | None:
        """Return what is heard next, None if nothing is for `timeout_s`."""
        end_s = None if timeout_s is None else time.monotonic() + timeout_s
        while True:
            self._ask_again()
            left_s = AGAIN_S if end_s is None else min(AGAIN_S, end_s - time.monotonic())
            if left_s <= 0:
                return None
            try:
                return self._inbox.get(timeout=left_s)
            except Empty:
                continue

    def awaited(self) -> bool:
        """Return True if a machine was asked what it is, and has not answered yet."""
        return bool(self._asked)

    def begin(self, name: str, job: TrialJob) -> None:
        """Let a machine run a trial."""
        self._threads.submit(self._run, name, job)

    def close(self) -> None:
        """End what runs, and take down the labs of all machines."""
        self._ended = True
        closers = ThreadPoolExecutor(len(self._beside))
        list(closers.map(TrialsBeside.close, self._beside.values()))
        closers.shutdown()
        self._threads.shutdown(cancel_futures=True)

    def _ask(self, name: str) -> None:
        """Ask a machine what it is. One that cannot be reached is asked again later."""
        try:
            self._inbox.put(MachineJoined(name, self._beside[name].declare(self._study)))
        except DelaylabError as error:
            if not self._ended:
                self._lost_at_s[name] = time.monotonic()
                self._inbox.put(MachineRefused(name, str(error)))
        self._asked.discard(name)

    def _ask_again(self) -> None:
        for name, at_s in list(self._lost_at_s.items()):
            if time.monotonic() - at_s > AGAIN_S:
                del self._lost_at_s[name]
                self._threads.submit(self._ask, name)

    def _run(self, name: str, job: TrialJob) -> None:
        try:
            parcel = self._beside[name].run(job)
        except ProcessEnded as error:
            self._inbox.put(TrialBroke(name, job.trial, str(error)))
            return
        except DelaylabError as error:
            self._inbox.put(MachineRefused(name, str(error)))
            return
        record = opened_record(parcel, job.trial)
        if record.lost is not None:
            self._lost_at_s[name] = time.monotonic()
            self._inbox.put(MachineLeft(name, record.reason or "it cannot be reached"))
        else:
            self._inbox.put(TrialEnded(name, job.trial, parcel))
