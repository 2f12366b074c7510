"""A study's labs on another machine: all of their hosts are put there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from delaylab.api.lab_files import MachineSpec
from delaylab.api.names import HERE


@dataclass(frozen=True)
class OtherMachine:
    """A machine that is to carry a study's labs, with the name that they have for it."""

    name: str
    spec: MachineSpec


def on_machine(lab: Mapping[str, object], machine: OtherMachine) -> dict[str, object]:
    """Return a lab's data with all of its hosts on a machine.

    A lab that names machines itself is returned as it is: it says where its hosts are.
    """
    hosts = lab.get("hosts") or {HERE: {}}
    if lab.get("machines") or not isinstance(hosts, Mapping):
        return dict(lab)
    placed = {name: {**(host or {}), "machine": machine.name} for name, host in hosts.items()}
    spec = machine.spec.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
    return {**lab, "machines": {machine.name: spec}, "hosts": placed}
