"""Mechanisms of nodes: what they do as the systems do that they stand for."""

from __future__ import annotations

from typing import Literal, get_args

Mechanism = Literal[
    "stack", "link", "protocol", "computation", "scheduling", "forwarding", "card", "clock", "speed"
]
"""A mechanism that a sentence on delay can be about; nodes of a kind have some of them.

- `stack`: the way through a system's protocol stack and queues, between a program and the wire.
- `link`: what the link engine does to frames.
- `protocol`: the order and the timers of a protocol's messages.
- `computation`: what a program computes, whatever time it takes.
- `scheduling`: a scheduler that gives CPUs to whole systems in turn.
- `forwarding`: what a frame costs on its way into a system with its own kernel, and out of it.
- `card`: a network card that is emulated or paravirtual.
- `clock`: a clock of its own, which drifts.
- `speed`: sizes of times and rates as hardware has them.
"""
OF_HOST_KERNEL: frozenset[Mechanism] = frozenset(
    {"stack", "link", "protocol", "computation", "speed"}
)
"""Mechanisms of nodes whose kernel is their host's: it schedules processes, not systems."""
OF_OWN_KERNEL: frozenset[Mechanism] = frozenset(
    {"stack", "link", "protocol", "computation", "scheduling"}
)
"""Mechanisms of systems whose kernels run as processes: in User-Mode Linux, or emulated."""
OF_MACHINE: frozenset[Mechanism] = frozenset(get_args(Mechanism))
"""Mechanisms of virtual machines that hardware runs."""
