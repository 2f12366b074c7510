"""Machines that carry labs: this one, and others over ssh."""

from __future__ import annotations

from delaylab.machines import LOCAL, Machine
from delaylab.machines.other_clock import OtherClock
from delaylab.machines.provenance import congestion_control
from delaylab.machines.ssh import SshMachine, reach_of
from delaylab.machines.underlay import addresses as addresses_of_machines

__all__ = [
    "LOCAL",
    "Machine",
    "OtherClock",
    "SshMachine",
    "addresses_of_machines",
    "congestion_control",
    "reach_of",
]
