"""Kinds of nodes, and the facts about them."""

from __future__ import annotations

from delaylab.spec.facts import is_virtual_machine, mechanisms_of
from delaylab.spec.kinds import (
    FACTS,
    FIELDS_OF_KINDS,
    HostedNode,
    NodeSpec,
    QemuNode,
    facts_of,
)
from delaylab.spec.mechanisms import Mechanism

__all__ = [
    "FACTS",
    "FIELDS_OF_KINDS",
    "HostedNode",
    "Mechanism",
    "NodeSpec",
    "QemuNode",
    "facts_of",
    "is_virtual_machine",
    "mechanisms_of",
]
