"""Check that the CPUs which a lab file names are CPUs of the machine that runs the lab."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

from delaylab.errors import DoesNotFit
from delaylab.machines import Machine
from delaylab.resolve.lab import Lab
from delaylab.spec.kinds import QemuNode
from delaylab.spec.source import Location


def check_cpus(lab: Lab, machine: Machine, where: Callable[[Location], str] | None = None) -> None:
    """Raise DoesNotFit for the first CPU that a machine lacks.

    `where` turns a part of the lab file into its place, such as `lab.yaml:7`.
    """
    here = machine.cpus()
    for location, cpus in _named(lab):
        missing = next((cpu for cpu in cpus if cpu not in here), None)
        if missing is not None:
            place = where(location) if where else " ".join(map(str, location))
            raise DoesNotFit(f"no CPU {missing}: this machine has CPUs {_text(here)}", place)


def _text(cpus: list[int]) -> str:
    """Return CPU numbers as ranges: `0–3, 8`."""
    starts = [cpus[0], *(later for earlier, later in pairwise(cpus) if later != earlier + 1)]
    ends = [*(earlier for earlier, later in pairwise(cpus) if later != earlier + 1), cpus[-1]]
    ranges = zip(starts, ends, strict=True)
    return ", ".join(str(a) if a == b else f"{a}–{b}" for a, b in ranges)


def _named(lab: Lab) -> Iterator[tuple[Location, list[int]]]:
    yield ("engine", "cpus"), lab.engine.cpus or []
    for name, host in lab.hosts.items():
        yield ("hosts", name, "cpus"), host.cpus or []
        if host.engine:
            yield ("hosts", name, "engine", "cpus"), host.engine.cpus or []
    for name, node in lab.nodes.items():
        yield ("nodes", name, "cpus"), node.cpus or []
        if isinstance(node, QemuNode):
            yield ("nodes", name, "pin"), node.pin or []
