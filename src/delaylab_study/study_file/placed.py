"""A study's labs on another machine: all of their hosts are put there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from delaylab.api.files import JsonObject
from delaylab.api.lab_files import MachineSpec
from delaylab.api.names import HERE


@dataclass(frozen=True)
class StudyMachine:
    """A machine that is to carry a study's labs, with the name that they have for it."""

    name: str
    spec: MachineSpec


def on_machine(lab: JsonObject, machine: StudyMachine) -> JsonObject:
    """Return what changes in a lab's data if all of its hosts are on a machine.

    Nothing does in a lab whose hosts are not a mapping: it is refused when it is checked.
    """
    hosts = lab.get("hosts") or {HERE: {}}
    if not isinstance(hosts, Mapping):
        return {}
    placed = {
        name: {**(host if isinstance(host, Mapping) else {}), "machine": machine.name}
        for name, host in hosts.items()
    }
    spec = machine.spec.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
    return {"machines": {machine.name: spec}, "hosts": placed}
