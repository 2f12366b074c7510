"""A check that a lab fits into its machine's memory, made before anything is started."""

from __future__ import annotations

from delaylab.errors import DoesNotFit
from delaylab.kinds import KINDS
from delaylab.machines import Machine
from delaylab.resolve.lab import Lab
from delaylab.units import MEBIBYTE

LEFT_FOR_OTHERS = 512 * MEBIBYTE
"""Bytes that must stay free: once a machine swaps, delays measure its disk."""
PART_FOR_OTHERS = 4
"""A quarter of what is free stays so on machines that have little."""


def check_memory(lab: Lab, machine: Machine) -> None:
    """Raise DoesNotFit if the lab's nodes need more memory than is available."""
    rights = machine.rights()
    needed = sum(KINDS[spec.kind].here(rights).memory(spec) for spec in lab.nodes.values())
    free = machine.available_bytes()
    available = free - min(LEFT_FOR_OTHERS, free // PART_FOR_OTHERS)
    if needed > available:
        raise DoesNotFit(
            f"its {len(lab.nodes)} nodes need {needed // MEBIBYTE} MiB of memory, "
            f"{available // MEBIBYTE} MiB can be had",
            f"lab {lab.name}",
            "fewer nodes, or less `memory:` for each",
        )
