"""Handles to labs that run already."""

from __future__ import annotations

from delaylab.lab.running import Lab
from delaylab.machines import find, running_labs


def attach(name: str | None, fix: str = "say which: --lab NAME") -> Lab:
    """Return the running lab of this name; without a name, the only one that runs.

    `fix` says how to name one if several run.
    """
    return Lab(find(running_labs(), name, fix))


def attach_all() -> list[Lab]:
    """Return all labs that run, in the order of their names."""
    return [Lab(running) for running in running_labs()]
