"""Labs made from maps and by generators."""

from __future__ import annotations

from delaylab.topology.in_documents import generated as generated_lab
from delaylab.topology.in_documents import named as named_lab
from delaylab.topology.lab import MapLab

__all__ = [
    "MapLab",
    "generated_lab",
    "named_lab",
]
