"""All labs that this machine knows: those on it, and those over several machines."""

from __future__ import annotations

from delaylab.machines.local import LOCAL
from delaylab.machines.machine import RunningLab


def running_labs() -> list[RunningLab]:
    """Return all labs of this user that are up, in the order of their names.

    The part that this machine has of a lab over several is no lab of its own.
    """
    from delaylab.machines import clusters  # noqa: PLC0415  few labs are over several machines

    own = [lab for lab in LOCAL.labs() if not clusters.is_part(lab)]
    return sorted([*own, *clusters.running()], key=lambda lab: lab.name)
