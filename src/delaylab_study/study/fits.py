"""A check, before a study runs, of what this machine can do with its labs."""

from __future__ import annotations

from collections.abc import Sequence

from delaylab.api.errors import DelaylabError
from delaylab_study import loads
from delaylab_study.study.order import Planned


def unfit(planned: Sequence[Planned]) -> dict[str, str]:
    """Return the trials that cannot be run here, by id, each with the reason."""
    found = ((trial.id, trial.lab.why_not or _lacking(trial)) for trial in planned)
    return {trial: why for trial, why in found if why}


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
