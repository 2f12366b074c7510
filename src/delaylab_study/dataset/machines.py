"""Machines of a dataset: those of a campaign join it one by one."""

from __future__ import annotations

from pathlib import Path

from delaylab.api.errors import DelaylabError
from delaylab.api.records import MachineRecord
from delaylab_study.dataset import store
from delaylab_study.dataset.records.reading import read_json
from delaylab_study.dataset.records.study import MOST_MACHINES


def with_machine(directory: Path, name: str, machine: MachineRecord) -> str:
    """Add a machine to a study's record, unless it is there, and return its name in the record.

    A machine that has changed since (another kernel, other software) is another machine: it gets a
    name with a number. Raise `DelaylabError` if the record cannot be written.
    """
    study = store.study_record(read_json(directory / "study.json"))
    for number in range(1, MOST_MACHINES + 1):
        called = name if number == 1 else f"{name}-{number}"
        if called not in study.machines:
            machines = {**study.machines, called: machine}
            store.write_study(directory, study.model_copy(update={"machines": machines}))
            return called
        if study.machines[called] == machine:
            return called
    raise DelaylabError(f"a dataset has at most {MOST_MACHINES} machines", str(directory))
