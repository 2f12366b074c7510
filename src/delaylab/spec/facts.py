"""Facts about kinds by their names."""

from __future__ import annotations

from delaylab.spec.kinds import facts_of
from delaylab.spec.mechanisms import OF_OWN_KERNEL, Mechanism


def is_virtual_machine(kind: str) -> bool:
    """Return True if nodes of a kind are virtual machines, which have kernels of their own."""
    return facts_of(kind).virtual_machine


def mechanisms_of(kind: str, *, emulated: bool) -> frozenset[Mechanism]:
    """Return what nodes of a kind do as real systems do; `emulated`: software stands for a CPU."""
    facts = facts_of(kind)
    return facts.mechanisms & OF_OWN_KERNEL if emulated and facts.emulated else facts.mechanisms
