"""Handles to labs that run already."""

from __future__ import annotations

from delaylab import hosts
from delaylab.lab.running import Lab


def attach(name: str | None, fix: str = "say which: --lab NAME") -> Lab:
    """Return the running lab of this name; without a name, the only one that runs.

    `fix` says how to name one if several run.
    """
    return attached(hosts.find(name, fix))


def attached(running: hosts.Running) -> Lab:
    """Return handles to a running lab. Its spec and plan are read only if they are needed."""
    return Lab(
        running.name,
        lambda: running.spec,
        lambda: running.plan,
        running.place,
        running.keeper,
    )
