"""A check, before a study runs, which of its labs this machine can start."""

from __future__ import annotations

from collections.abc import Iterable

from delaylab.errors import DelaylabError
from delaylab.kinds import KINDS
from delaylab.machine.cpus import check_cpus
from delaylab.machine.memory import check_memory
from delaylab.machine.rights import own_rights
from delaylab.plan.build import build
from delaylab.spec.lab import LabSpec
from delaylab.study.order import Planned


def unfit(planned: Iterable[Planned]) -> dict[str, str]:
    """Return the trials whose labs cannot be started here, by id, each with the reason.

    Nothing is started: an image that cannot be built, or a program that fails, shows only later.
    """
    known: dict[str, str] = {}
    found: dict[str, str] = {}
    for trial in planned:
        lab = trial.combination.lab
        key = lab.model_dump_json()
        if key not in known:
            known[key] = _why_not(lab)
        if known[key]:
            found[trial.id] = known[key]
    return found


def _why_not(lab: LabSpec) -> str:
    rights = own_rights()
    try:
        build(lab, KINDS, rights)
        check_cpus(lab)
        check_memory(lab, rights)
    except DelaylabError as error:
        return str(error)
    return ""
