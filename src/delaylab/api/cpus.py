"""CPUs that a lab reserves."""

from __future__ import annotations

from delaylab.spec.reserved import cpus_in_words, reserved_cpus

__all__ = [
    "cpus_in_words",
    "reserved_cpus",
]
