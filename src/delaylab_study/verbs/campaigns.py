"""Executors of studies: this machine, or the machines of a campaign."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from delaylab.api.errors import BadInput, NotHere, needed
from delaylab.api.lab_files import MachineSpec, checked_lab
from delaylab.api.machines import LOCAL
from delaylab.api.progress import Progress
from delaylab_study.campaign.coordinator import Campaign
from delaylab_study.campaign.seats import Seats
from delaylab_study.campaign.ssh_seats import SshSeats
from delaylab_study.dataset.store import read_study
from delaylab_study.study.executor import Executor, Here
from delaylab_study.study.fits import differing
from delaylab_study.study.order import Planned, study_in
from delaylab_study.study_file.combine import StudyFile
from delaylab_study.study_file.placed import StudyMachine

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Cluster:
    """A dask scheduler whose workers run the trials, with the files of TLS if it asks for it."""

    scheduler: str
    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None


Where = Cluster | Sequence[StudyMachine] | None
"""The machines that run trials: a cluster's, some that ssh reaches, or this one."""


def where_of(
    cluster: Cluster | None, machines: str | None, study: StudyFile | Path | None
) -> Where:
    """Return where trials run, from a cluster, if one is given, and the value of `--machines`.

    `study` is the study or the folder of its dataset. Raise BadInput if the value makes no sense,
    NotHere if trials are to run on this machine and it is not what the study needs.
    """
    if machines is not None and cluster is not None:
        raise BadInput("--on and --machines exclude each other", fix="give one of them")
    if isinstance(study, Path):
        record = read_study(study).record
        study = study_in(record, str(study / "study.json"))
    if machines is not None and study is not None:
        return machines_of(machines, study)
    if cluster is None and study is not None:
        _check_here(study)
    return cluster


def check_movable(where: Where, planned: Sequence[Planned]) -> None:
    """Raise BadInput if a machine of a campaign cannot carry a whole lab.

    Machines that ssh reaches carry a lab whose hosts are all on one machine, whichever it names. A
    worker of a cluster carries what names none.
    """
    if where is None:
        return
    for trial in planned:
        machines = {host.machine for host in trial.combination.lab.hosts.values()} or {None}
        if machines == {None} or (len(machines) == 1 and not isinstance(where, Cluster)):
            continue
        named = ", ".join(sorted(each or "this one" for each in machines))
        what = f"trial {trial.id}: the hosts of its lab are on machines that it names: {named}"
        fix = "a machine of a campaign carries a whole lab: leave `machine:` out of `hosts:`"
        raise BadInput(what, "--on" if isinstance(where, Cluster) else "--machines", fix)


def _check_here(study: StudyFile) -> None:
    """Raise NotHere if this machine is not what a study needs."""
    if study.spec.machine is None:
        return
    if differs := differing(study, LOCAL.describe(), LOCAL):
        raise NotHere(f"the study {differs}", "machine", "run it on another machine")


def machines_of(text: str, study: StudyFile) -> list[StudyMachine]:
    """Return the machines that `--machines` names, joined by commas.

    A name is one of the lab's `machines:`, or what ssh takes. Raise BadInput if one is neither.
    """
    known = checked_lab(study.lab_document, study.lab_at).machines
    found: list[StudyMachine] = []
    for part in filter(None, (each.strip() for each in text.split(","))):
        name = re.sub(r"[^A-Za-z0-9-]+", "-", part.rpartition("@")[2]).strip("-")
        try:
            spec = known.get(part) or MachineSpec.model_validate({"ssh": part})
        except ValueError:
            fix = "`lab2`, `root@192.0.2.1`, or a name of the lab's `machines:`"
            raise BadInput(f"--machines: no machine {part!r}", fix=fix) from None
        if any(each.name == name for each in found):
            raise BadInput(f"--machines: {part!r} is there twice")
        found.append(StudyMachine(name, spec))
    if not found:
        raise BadInput("--machines names none")
    return found


@contextmanager
def executor_on(where: Where, folder: Path, build: Progress, say: Say) -> Iterator[Executor]:
    """Yield what runs the trials of the dataset in `folder`; its labs are down at the end.

    `build` gets what this machine builds, and `say` a line on what happens to other machines.
    """
    if where is None:
        with Here(progress=build) as here:
            yield here
        return
    seats = _seats(where, (folder / "study.json").read_bytes())
    try:
        yield Campaign(seats, folder, say)
    finally:
        seats.close()


def _seats(where: Cluster | Sequence[StudyMachine], study: bytes) -> Seats:
    if not isinstance(where, Cluster):
        return SshSeats(where, study)
    with needed("`run --on`"):
        from delaylab_study.campaign.dask_seats import DaskSeats  # noqa: PLC0415  an extra
        from delaylab_study.campaign.security import security_of  # noqa: PLC0415  an extra

    return DaskSeats(where.scheduler, security_of(where.ca, where.certificate, where.key), study)
