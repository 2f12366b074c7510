"""Executors of studies: this machine, or the machines of a campaign."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from delaylab.api.errors import needed
from delaylab.api.progress import Progress
from delaylab_study.study.executor import Executor, Here

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Cluster:
    """A dask scheduler whose workers run the trials, with the files of TLS if it asks for it."""

    scheduler: str
    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None


@contextmanager
def executor_on(
    cluster: Cluster | None, folder: Path, build: Progress, say: Say
) -> Iterator[Executor]:
    """Yield what runs the trials of the dataset in `folder`; its labs are down at the end.

    Without a cluster that is this machine. `build` is told what this machine builds, `say` what
    happens to other ones.
    """
    if cluster is None:
        with Here(progress=build) as here:
            yield here
        return
    with needed("`run --on`"):
        from delaylab_study.campaign.coordinator import Campaign  # noqa: PLC0415  an extra
        from delaylab_study.campaign.dask_seats import DaskSeats  # noqa: PLC0415  an extra
        from delaylab_study.campaign.security import security_of  # noqa: PLC0415  an extra

    security = security_of(cluster.ca, cluster.certificate, cluster.key)
    seats = DaskSeats(cluster.scheduler, security, (folder / "study.json").read_bytes())
    try:
        yield Campaign(seats, folder, say)
    finally:
        seats.close()
