"""Tasks that a coordinator has a worker do; they run in the worker, not beside the coordinator."""

from __future__ import annotations

from distributed import get_worker

from delaylab.api.records import VERSION
from delaylab_study.campaign.parcel import Declared, Parcel, TrialJob
from delaylab_study.campaign.quiet import quiet
from delaylab_study.campaign.trials_beside import TrialsBeside

OFFERED = "delaylab "
"""The beginning of the resource's name that a worker of any version has."""
RESOURCE = f"{OFFERED}{VERSION}"
"""The resource of a worker of which it has one: it runs one lab at a time, by this version."""
_BESIDE = TrialsBeside()


def declare(study: bytes) -> Declared:
    """Return what this machine is, and which trials of a study it cannot run."""
    return _BESIDE.declare(study)


def run_job(job: TrialJob) -> Parcel:
    """Run a trial in the process beside this one, which sleeps meanwhile."""
    with quiet(get_worker()):
        return _BESIDE.run(job)


def end_campaign(campaign: str, within_s: float) -> None:
    """End what this machine runs for a campaign, and take down its lab."""
    _BESIDE.end(campaign, within_s)


def close() -> None:
    """End the process beside this one."""
    _BESIDE.close()
