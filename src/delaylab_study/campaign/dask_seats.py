"""Seats of a campaign at the workers of a dask scheduler.

The scheduler carries jobs and outcomes; which machine runs which trial is decided by the
coordinator. So each task is for one worker, and what the scheduler would do about a worker's death
(run its tasks elsewhere, blame them) is never asked for.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from queue import Empty, Queue

from distributed import Client, Future
from distributed.security import Security

from delaylab.api.errors import DelaylabError
from delaylab_study.campaign.dask_tasks import (
    OFFERED,
    RESOURCE,
    declare,
    end_campaign,
    run_job,
)
from delaylab_study.campaign.parcel import Declared, Parcel, TrialJob
from delaylab_study.campaign.seats import (
    MachineJoined,
    MachineLeft,
    MachineRefused,
    News,
    TrialBroke,
    TrialEnded,
)

CONNECT_S = 10.0
"""The time to reach a scheduler in."""
LOOK_EVERY_S = 2.0
"""The time between two looks whether the scheduler is still there."""
GONE_S = 20.0
"""The time for which a scheduler may be away."""
FETCHED_AT_ONCE = 8
"""The number of outcomes that are fetched from their machines at once."""
END_S = 60.0
"""The time that machines have to take down their labs."""

Ask = tuple[str, Future[Declared]]
Run = tuple[str, str, Future[Parcel]]


class DaskSeats:
    """The workers of a scheduler that run labs (`delaylab worker`)."""

    def __init__(self, address: str, security: Security | None, study: bytes) -> None:
        """Connect to a scheduler; raise DelaylabError if there is none, or it refuses."""
        self._address, self._study = address, study
        self._inbox: Queue[object] = Queue()
        self._names: dict[str, str] = {}
        self._at: dict[str, str] = {}
        self._runs: dict[str, tuple[str, Future[Parcel]]] = {}
        self._asked: set[str] = set()
        self._fetching = ThreadPoolExecutor(FETCHED_AT_ONCE)
        self._campaigns: set[str] = set()
        self._away_since_s: float | None = None
        self._number = 0
        try:
            self._client = Client(
                address, timeout=CONNECT_S, security=security, set_as_default=False
            )
        except (OSError, ValueError, TypeError) as error:
            raise DelaylabError(f"no scheduler at {address}: {_line(error)}") from None
        self._client.subscribe_topic("all", self._scheduler_said)
        for worker in self._client.scheduler_info(n_workers=-1)["workers"]:
            self._inbox.put(("add-worker", worker))

    def heard(self, timeout_s: float | None) -> News | None:
        """Return what is heard next, None if nothing is for `timeout_s`."""
        end_s = None if timeout_s is None else time.monotonic() + timeout_s
        while True:
            left_s = LOOK_EVERY_S if end_s is None else min(LOOK_EVERY_S, end_s - time.monotonic())
            if left_s <= 0:
                return None
            try:
                what = self._inbox.get(timeout=left_s)
            except Empty:
                self._check()
                continue
            if (news := self._news(what)) is not None:
                return news

    def awaited(self) -> bool:
        """Return True if a worker was asked what it is, and has not answered yet."""
        return bool(self._asked) or not self._inbox.empty()

    def begin(self, name: str, job: TrialJob) -> None:
        """Let a machine run a trial."""
        self._number += 1
        self._campaigns.add(job.campaign)
        future = self._client.submit(
            run_job,
            job,
            key=f"delaylab-{job.campaign}-{self._number}",
            workers=[self._at[name]],
            allow_other_workers=False,
            resources={RESOURCE: 1},
            pure=False,
            retries=0,
        )
        self._runs[name] = job.trial, future
        future.add_done_callback(lambda done: self._fetching.submit(self._fetch, name, job, done))

    def close(self) -> None:
        """End what runs, take down the labs of all machines, and leave the scheduler."""
        try:
            if self._client.status == "running" and self._names:
                self._client.cancel([future for _, future in self._runs.values()])
                for campaign in self._campaigns:
                    self._client.run(
                        partial(end_campaign, campaign=campaign, within_s=END_S),
                        workers=list(self._names),
                        on_error="return",
                        wait=True,
                    )
        except (OSError, TimeoutError, RuntimeError):
            pass  # machines take their labs down themselves when nobody asks for trials
        finally:
            self._client.close(timeout=5)
            self._fetching.shutdown(wait=False, cancel_futures=True)

    def _fetch(self, name: str, job: TrialJob, future: Future[Parcel]) -> None:
        """Get an outcome from its machine, which may end meanwhile; called in a thread."""
        try:
            what: object = future.result(timeout=END_S) if future.status == "finished" else None
        except Exception as error:  # the machine or the way to it is gone
            what = error
        self._inbox.put((name, job.trial, future, what))

    def _scheduler_said(self, event: tuple[float, object]) -> None:
        _, said = event
        if isinstance(said, dict) and said.get("action") in ("add-worker", "remove-worker"):
            self._inbox.put((str(said["action"]), str(said["worker"])))

    def _news(self, what: object) -> News | None:
        match what:
            case ("add-worker", str(address)):
                return self._ask(address)
            case ("remove-worker", str(address)):
                return self._left(address)
            case ("asked", str(address), Future() as future):
                return self._declared(address, future)
            case (str(name), str(trial), Future() as future, outcome):
                return self._ended(name, trial, future, outcome)
        return None

    def _ask(self, address: str) -> News | None:
        """Ask a worker what it is; one that runs no labs is left alone.

        A worker of another version is not asked: it may not understand the question.
        """
        known = self._client.scheduler_info(n_workers=-1)["workers"].get(address)
        offers = [] if known is None else [*known.get("resources", {})]
        offered = next((each for each in offers if each.startswith(OFFERED)), None)
        if known is None or offered is None or address in self._names:
            return None
        if offered != RESOURCE:
            why = f"it has {offered}, and this machine {RESOURCE}; all need one version"
            return MachineRefused(str(known["name"]), why)
        self._names[address] = str(known["name"])
        self._asked.add(address)
        self._number += 1
        future = self._client.submit(
            declare,
            self._study,
            key=f"delaylab-declare-{self._number}-{id(self)}",
            workers=[address],
            allow_other_workers=False,
            resources={RESOURCE: 1},
            pure=False,
            retries=0,
        )
        future.add_done_callback(lambda done: self._inbox.put(("asked", address, done)))
        return None

    def _declared(self, address: str, future: Future[Declared]) -> News | None:
        self._asked.discard(address)
        name = self._names.get(address)
        if name is None:
            return None
        if future.status != "finished":
            return MachineRefused(name, _why(future))
        self._at[name] = address
        return MachineJoined(name, future.result())

    def _ended(self, name: str, trial: str, future: Future[Parcel], outcome: object) -> News | None:
        known = self._runs.get(name)
        if known is None or known[1] is not future:
            return None  # the machine was lost before its outcome had arrived
        if isinstance(outcome, Parcel):
            del self._runs[name]
            return TrialEnded(name, trial, outcome)
        if isinstance(outcome, Exception):
            del self._runs[name]
            return TrialBroke(name, trial, f"its outcome did not arrive: {_line(outcome)}")
        if future.status == "error":
            del self._runs[name]
            return TrialBroke(name, trial, _why(future))
        return None  # the scheduler says that the worker is gone

    def _left(self, address: str) -> News | None:
        self._asked.discard(address)
        name = self._names.pop(address, None)
        if name is None or self._at.get(name, address) != address:
            return None
        self._at.pop(name, None)
        _, future = self._runs.pop(name, ("", None))
        if future is not None:
            future.cancel()
        return MachineLeft(name, "its worker ended, or cannot be reached")

    def _check(self) -> None:
        """Raise DelaylabError if the scheduler has been away for too long."""
        if self._client.status == "running":
            self._away_since_s = None
            return
        now_s = time.monotonic()
        self._away_since_s = self._away_since_s or now_s
        if now_s - self._away_since_s > GONE_S or self._client.status == "closed":
            raise DelaylabError(f"the scheduler at {self._address} is gone")


def _why(future: Future[Declared] | Future[Parcel]) -> str:
    if future.status == "error":
        try:
            future.result(timeout=END_S)
        except Exception as error:  # whatever a machine's task raised
            return _line(error)
    return f"its task was {future.status}"


def _line(error: BaseException) -> str:
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__
