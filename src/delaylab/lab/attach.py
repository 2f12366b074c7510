"""Handles to labs that run already."""

from __future__ import annotations

from typing import TYPE_CHECKING

from delaylab import hosts
from delaylab.lab.running import Lab

if TYPE_CHECKING:
    from delaylab.plan.model import Plan


def attach(name: str | None, fix: str = "say which: --lab NAME") -> Lab:
    """Return the running lab of this name; without a name, the only one that runs.

    `fix` says how to name one if several run.
    """
    return attached(hosts.find(name, fix))


def attached(running: hosts.Running) -> Lab:
    """Return handles to a running lab. Its spec is read, and its plan made, only if needed."""

    def plan() -> Plan:
        from delaylab.kinds import KINDS  # noqa: PLC0415
        from delaylab.machine.rights import own_rights  # noqa: PLC0415
        from delaylab.plan.build import build  # noqa: PLC0415

        return build(lab.spec, KINDS, own_rights(), name=running.name)

    layout = running.record.layout
    lab = Lab(running.name, lambda: running.spec, plan, layout, running.place, running.keeper)
    return lab
