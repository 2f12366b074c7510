"""A check, before a study runs, of what this machine can do with its labs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from delaylab import loads
from delaylab.errors import DelaylabError
from delaylab.kinds import KINDS
from delaylab.lab.completion import is_emulated
from delaylab.lab.cpus import check_cpus
from delaylab.lab.memory import check_memory
from delaylab.lab.packages import check_packages
from delaylab.machines import LOCAL
from delaylab.plan.build import build
from delaylab.spec.lab import LabSpec
from delaylab.study.order import Planned

T = TypeVar("T")


def unfit(planned: Sequence[Planned]) -> dict[str, str]:
    """Return the trials that cannot be run here, by id, each with the reason.

    Nothing is started: an image that cannot be built, or a program that fails, shows only later.
    """
    labs = {trial: why for trial, why in _by_trial(planned, _why_not) if why}
    return {trial.id: lacking for trial in planned if (lacking := _lacking(trial))} | labs


def emulated(planned: Sequence[Planned]) -> frozenset[str]:
    """Return the ids of the trials whose virtual machines are emulated here.

    Labs that cannot be planned have none. No guest is booted to find out whether KVM works.
    """
    return frozenset(trial for trial, here in _by_trial(planned, _is_emulated) if here)


def _by_trial(planned: Sequence[Planned], of: Callable[[LabSpec], T]) -> Iterator[tuple[str, T]]:
    """Yield the id of each trial with what holds of its lab; trials share labs."""
    known: dict[str, T] = {}
    keys: dict[int, str] = {}
    for trial in planned:
        lab = trial.combination.lab
        # Repeats have one lab, which lives as long as they do.
        if id(lab) not in keys:
            keys[id(lab)] = lab.model_dump_json()
        key = keys[id(lab)]
        if key not in known:
            known[key] = of(lab)
        yield trial.id, known[key]


def _is_emulated(lab: LabSpec) -> bool:
    try:
        return is_emulated(build(lab, KINDS, LOCAL.rights()))
    except DelaylabError:
        return False


def _lacking(trial: Planned) -> str:
    """Return which programs of this machine's a trial lacks; an empty text if none."""
    try:
        loads.require_tools([trial.combination])
    except DelaylabError as error:
        return str(error)
    return ""


def _why_not(lab: LabSpec) -> str:
    try:
        build(lab, KINDS, LOCAL.rights())
        check_packages([lab])
        check_cpus(lab, LOCAL)
        check_memory(lab, LOCAL)
    except DelaylabError as error:
        return str(error)
    return ""
