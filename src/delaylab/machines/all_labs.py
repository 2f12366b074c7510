"""All labs that this machine knows: those on it, and those over several machines."""

from __future__ import annotations

from delaylab.machines import cluster_files
from delaylab.machines.local import LOCAL
from delaylab.machines.machine import DescribedLab


def running_labs() -> list[DescribedLab]:
    """Return all labs of this user that are up, in the order of their names.

    The part that this machine has of a lab over several is no lab of its own.
    """
    own = [lab for lab in LOCAL.labs() if not lab.is_part]
    if not cluster_files.any_known():
        return sorted(own, key=lambda lab: lab.name)
    from delaylab.machines import clusters  # noqa: PLC0415  few labs are over several machines

    return sorted([*own, *clusters.running()], key=lambda lab: lab.name)
