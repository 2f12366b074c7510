"""Handles to labs that run already."""

from __future__ import annotations

from delaylab.lab.running import LiveLab
from delaylab.machines import find, running_labs


def attach(name: str | None, fix: str = "say which: --lab NAME") -> LiveLab:
    """Return the running lab of this name; without a name, the only one that runs.

    `fix` says how to name one if several run.
    """
    return LiveLab(find(running_labs(), name, fix))


def attach_all() -> list[LiveLab]:
    """Return all labs that run, in the order of their names."""
    return [LiveLab(running) for running in running_labs()]
