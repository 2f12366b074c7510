"""What a plan has to know of a node kind; the kinds themselves are in `delaylab.kinds`."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Protocol

from delaylab.plan.model import Agent


@dataclass(frozen=True)
class Rights:
    """What this user may do on this machine."""

    root: bool

    @classmethod
    def mine(cls) -> Rights:
        """Of the process that asks."""
        return cls(root=os.geteuid() == 0)


class Kind(Protocol):
    """A technology that a node can be made of.

    `own_stack`: the node has a network stack of its own, hence a virtual interface; else it lives
    in its host's.
    """

    name: str
    own_stack: bool

    def can_run(self, rights: Rights, on_machine: bool) -> str | None:
        """None, or why not and what to do; `on_machine`: its host is this machine itself."""

    def agent(self, node: str, network: str, cpus: tuple[int, ...] | None) -> Agent:
        """The agent that the fabric starts for a node; `network` is where its stack is."""
