"""Kinds of nodes, and the facts about them."""

from __future__ import annotations

from delaylab.spec.kinds import (
    FACTS,
    FIELDS_OF_KINDS,
    HostedNode,
    NodeSpec,
    QemuNode,
    facts_of,
    is_virtual_machine,
)

__all__ = [
    "FACTS",
    "FIELDS_OF_KINDS",
    "HostedNode",
    "NodeSpec",
    "QemuNode",
    "facts_of",
    "is_virtual_machine",
]
