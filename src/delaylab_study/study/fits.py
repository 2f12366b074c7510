"""A check, before a study runs, of what this machine can do with its labs."""

from __future__ import annotations

from collections.abc import Sequence

from delaylab.api.errors import DelaylabError
from delaylab.api.machines import Machine
from delaylab.api.progress import silent
from delaylab.api.records import MachineRecord
from delaylab_study import loads
from delaylab_study.study.order import Planned
from delaylab_study.study_file.combine import StudyFile
from delaylab_study.study_file.machine_needs import differences


def unfit(planned: Sequence[Planned]) -> dict[str, str]:
    """Return the trials that cannot be run here, by id, each with the reason."""
    found = ((trial.id, trial.lab.why_not or _lacking(trial)) for trial in planned)
    return {trial: why for trial, why in found if why}


def differing(study: StudyFile, record: MachineRecord, machine: Machine) -> str:
    """Return how a machine differs from the one that a study needs; "" if it does not."""
    needs = study.spec.machine
    if needs is None:
        return ""
    return "; ".join(differences(needs, record, lambda: machine.why_no_kvm(silent)))


def emulated(planned: Sequence[Planned]) -> frozenset[str]:
    """Return the ids of the trials whose virtual machines are emulated here."""
    return frozenset(trial.id for trial in planned if trial.lab.is_emulated)


def _lacking(trial: Planned) -> str:
    """Return which programs of this machine's a trial lacks; an empty text if none."""
    try:
        loads.require_tools([trial.combination])
    except DelaylabError as error:
        return str(error)
    return ""
