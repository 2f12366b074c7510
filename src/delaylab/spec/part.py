"""The part of a lab that one machine carries. Pure."""

from __future__ import annotations

from delaylab.spec.lab import LabSpec
from delaylab.spec.this_machine import LOCAL_MACHINE


def on_machine(lab: LabSpec, machine: str) -> LabSpec:
    """Return the hosts and nodes of a lab that a machine carries, without links.

    It is for checks of what the machine has; a lab on this machine alone is returned as it is.
    """
    if not lab.machines_used:
        return lab
    hosts = {
        name: spec for name, spec in lab.hosts.items() if (spec.machine or LOCAL_MACHINE) == machine
    }
    nodes = {name: spec for name, spec in lab.nodes.items() if lab.host_of(name) in hosts}
    return lab.model_copy(update={"hosts": hosts, "nodes": nodes, "links": []})
